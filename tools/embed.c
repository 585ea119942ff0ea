// Prints a C table of files: the standard library and the runtime's text, as they are in the tree.
// Usage: embed FILE... > embedded.c
#include <stdio.h>

static int print_file(const char *path, int number) {
    FILE *f = fopen(path, "rb");
    if (!f) {
        perror(path);
        return 0;
    }
    printf("static const unsigned char file%d[] = {", number);
    int c, n = 0;
    while ((c = fgetc(f)) != EOF)
        printf("%s%d,", n++ % 24 ? "" : "\n    ", c);
    printf("0};\n");
    fclose(f);
    return 1;
}

int main(int argc, char **argv) {
    printf("#include \"base/embedded.h\"\n");
    for (int i = 1; i < argc; i++) {
        if (!print_file(argv[i], i))
            return 1;
    }
    printf("static const EmbeddedFile files[] = {\n");
    for (int i = 1; i < argc; i++)
        printf("    {\"%s\", (const char *)file%d, (int)sizeof file%d - 1},\n", argv[i], i, i);
    printf("    {0, 0, 0},\n};\n");
    printf("const EmbeddedFile *embedded_files(void) {\n    return files;\n}\n");
    return 0;
}
