// Fuzz target: a packed weights file in memory, its header's checksum made right so that the
// checks behind it are reached.

#include "runtime/pack.h"

#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void mend(unsigned char *file, size_t size) {
    uint64_t header = 0;
    RtPackSum sum;
    for (int i = 7; i >= 0; i--)
        header = header << 8 | file[8 + i];
    if (header < 40 || header > size)
        return;
    for (int i = 0; i < 8; i++)
        file[16 + i] = (unsigned char)((uint64_t)size >> 8 * i);
    memset(file + 32, 0, 8);
    rt_pack_sum_start(&sum);
    rt_pack_sum_add(&sum, file, (size_t)header);
    uint64_t value = rt_pack_sum_end(&sum);
    for (int i = 0; i < 8; i++)
        file[32 + i] = (unsigned char)(value >> 8 * i);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    char why[256] = "";
    RtPack pack;
    unsigned char *copy = malloc(size ? size : 1);
    if (!copy)
        return 0;
    memcpy(copy, data, size);
    if (size >= RT_PACK_HEAD)
        mend(copy, size);
    if (rt_pack_read(&pack, copy, size, "fuzz", why, sizeof why)) {
        for (uint32_t i = 0; i < pack.count; i++)
            if (strlen(rt_pack_tensor(&pack, i).name) > size)
                abort();
        rt_pack_verify(&pack, "fuzz", why, sizeof why);
    } else if (why[0] == '\0') {
        abort(); // refused without a word
    }
    free(copy);
    return 0;
}
