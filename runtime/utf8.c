// UTF-8 checking, after the table of well-formed byte sequences in the Unicode standard (3-7).

#include "runtime/utf8.h"

#include <stdint.h>
#include <string.h>

static bool tail(unsigned char byte) {
    return (byte & 0xC0) == 0x80;
}

static size_t length3(const unsigned char *s) {
    unsigned char low = s[0] == 0xE0 ? 0xA0 : 0x80;  // else overlong
    unsigned char high = s[0] == 0xED ? 0x9F : 0xBF; // else a surrogate
    return s[1] >= low && s[1] <= high && tail(s[2]) ? 3 : 0;
}

static size_t length4(const unsigned char *s) {
    unsigned char low = s[0] == 0xF0 ? 0x90 : 0x80;  // else overlong
    unsigned char high = s[0] == 0xF4 ? 0x8F : 0xBF; // else past U+10FFFF
    return s[1] >= low && s[1] <= high && tail(s[2]) && tail(s[3]) ? 4 : 0;
}

size_t rt_utf8_length(const void *text, size_t size) {
    const unsigned char *s = text;
    if (size == 0)
        return 0;
    if (s[0] < 0x80)
        return 1;
    if (s[0] >= 0xC2 && s[0] <= 0xDF)
        return size >= 2 && tail(s[1]) ? 2 : 0;
    if (s[0] >= 0xE0 && s[0] <= 0xEF)
        return size >= 3 ? length3(s) : 0;
    if (s[0] >= 0xF0 && s[0] <= 0xF4)
        return size >= 4 ? length4(s) : 0;
    return 0;
}

bool rt_utf8_valid(const void *text, size_t size) {
    const unsigned char *s = text;
    size_t at = 0;
    while (at < size) {
        uint64_t word;
        if (size - at >= sizeof word) { // most text is ASCII: eight at a time
            memcpy(&word, s + at, sizeof word);
            if (!(word & UINT64_C(0x8080808080808080))) {
                at += sizeof word;
                continue;
            }
        }
        size_t length = rt_utf8_length(s + at, size - at);
        if (!length)
            return false;
        at += length;
    }
    return true;
}
