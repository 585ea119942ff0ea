// The folder of an export, and which of its files a later export may overwrite.
#pragma once
#include "cli/model.h"
#include "codegen/codegen.h"

// Makes the folder, or takes one that is empty or an earlier export. There, a file that would be
// overwritten must be as it was exported, unless `force`. False after E8001.
bool export_folder(Model *m, const char *dir, bool force, const GenFile *files, int count);

// Records what the files are, once they are written. False after E8001.
bool export_record(Model *m, const char *dir, const GenFile *files, int count);

bool export_write(Model *m, const char *dir, const GenFile *f); // false after E8001
