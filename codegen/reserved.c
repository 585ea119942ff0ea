// Names that generated C may not take from the source; see names.h.
#include "codegen/names.h"
#include <string.h>

// Keywords, and words that headers or compilers make into something else.
static const char keywords[] =
    " auto break case char const continue default do double else enum extern float for goto "
    "if inline int long register restrict return short signed sizeof static struct switch "
    "typedef union unsigned void volatile while bool true false asm typeof complex imaginary "
    "I NULL EOF INFINITY NAN errno main ";

// ISO C's functions, types and macros of math.h, stdio.h, stdlib.h and string.h, and well-known
// ones of POSIX.
static const char library[] =
    " size_t ptrdiff_t unix linux div abs labs index rindex gamma j0 j1 jn y0 y1 yn signgam "
    "scalb select read write open close pipe link time clock signal system exit abort free "
    "malloc calloc realloc memcpy memset memmove memcmp strlen strcmp strcpy printf puts "
    "getc putc remove rename rand random stdin stdout stderr environ dup fork kill sleep "
    "pause access swab FILE aligned_alloc at_quick_exit atexit atof atoi atol atoll bsearch "
    "clearerr div_t double_t fclose feof ferror fflush fgetc fgetpos fgets float_t fopen "
    "fpos_t fprintf fputc fputs fread freopen fscanf fseek fsetpos ftell fwrite getchar "
    "getenv ldiv ldiv_t llabs lldiv lldiv_t max_align_t mblen mbstowcs mbtowc memchr perror "
    "putchar qsort quick_exit rewind scanf setbuf setvbuf snprintf sprintf srand sscanf "
    "strcat strchr strcoll strcspn strerror strncat strncmp strncpy strpbrk strrchr strspn "
    "strstr strtod strtof strtok strtol strtold strtoll strtoul strtoull strxfrm tmpfile "
    "tmpnam ungetc vfprintf vfscanf vprintf vscanf vsnprintf vsprintf vsscanf wchar_t "
    "wcstombs wctomb BUFSIZ EXIT_FAILURE EXIT_SUCCESS FILENAME_MAX FOPEN_MAX FP_ILOGB0 "
    "FP_ILOGBNAN FP_INFINITE FP_NAN FP_NORMAL FP_SUBNORMAL FP_ZERO HUGE_VAL HUGE_VALF "
    "HUGE_VALL L_tmpnam MATH_ERREXCEPT MATH_ERRNO MB_CUR_MAX RAND_MAX SEEK_CUR SEEK_END "
    "SEEK_SET TMP_MAX fpclassify isfinite isgreater isgreaterequal isinf isless islessequal "
    "islessgreater isnan isnormal isunordered math_errhandling offsetof signbit alignas "
    "alignof noreturn static_assert thread_local va_list ";

// Functions of math.h that are there for f32 and long double too: sinf, sinl.
static const char math[] =
    " acos asin atan atan2 cos sin tan cosh sinh tanh acosh asinh atanh exp exp2 expm1 frexp "
    "ilogb ldexp log log10 log1p log2 logb modf scalbn scalbln cbrt fabs hypot pow sqrt erf "
    "erfc lgamma tgamma ceil floor nearbyint rint lrint llrint round lround llround trunc "
    "fmod remainder remquo copysign nan nextafter nexttoward fdim fmax fmin fma ";

// What generated files, and the parameters that they give to functions, are called.
static const char frame[] =
    " Session Work work take room larger arena_bytes model_open model_verify model_close "
    "session_new session_free session_next session_next_greedy model_load Loader load_tensor "
    "ModelFile load_file is_valid model_weights model_name_json model_weights_json next "
    "count tokens key session file rows Options Text Batch Cache session_cache "
    "session_cache_bytes session_arena_bytes session_clear session_prefill session_step "
    "new_state new_cache new_chunk Chunk fill_chunk place_chunk behind own run_step slide "
    "slide_row "
    "make_room "
    "clear_row chunk_end keep_rows place_rows States next_state session_model is_chunk "
    "GENERATE_H ";

// Is the name, up to `length`, among words that have a space before and after them?
static bool listed(const char *words, const char *name, size_t length) {
    for (const char *p = words; *p; p += strcspn(p, " ")) {
        p += 1;
        if (strncmp(p, name, length) == 0 && p[length] == ' ')
            return true;
    }
    return false;
}

static bool starts(const char *name, const char *const *list, size_t count) {
    for (size_t i = 0; i < count; i++) {
        if (strncmp(name, list[i], strlen(list[i])) == 0)
            return true;
    }
    return false;
}

#define COUNT(list) (sizeof list / sizeof *list)

// int_fast8_t and INT_FAST8_MAX. With a number behind it, a name must not be like these any more.
static bool is_patterned(const char *name, size_t length) {
    static const char *const types[] = {"int", "uint"};
    static const char *const limits[] = {"INT",   "UINT",   "PTRDIFF_", "SIG_ATOMIC_",
                                         "SIZE_", "WCHAR_", "WINT_"};
    static const char *const ends[] = {"_MAX", "_MIN", "_C", "_WIDTH"};
    if (length > 2 && strcmp(name + length - 2, "_t") == 0)
        return starts(name, types, COUNT(types));
    for (size_t i = 0; i < COUNT(ends); i++) {
        size_t end = strlen(ends[i]);
        if (length > end && strcmp(name + length - end, ends[i]) == 0)
            return starts(name, limits, COUNT(limits));
    }
    return false;
}

bool names_reserved(const char *name) {
    size_t length = strlen(name);
    bool typed = length > 1 && (name[length - 1] == 'f' || name[length - 1] == 'l');
    return listed(keywords, name, length) || listed(library, name, length) ||
           listed(frame, name, length) || listed(math, name, length) ||
           (typed && listed(math, name, length - 1)) || is_patterned(name, length);
}
