// Error texts: formatting and making hostile bytes printable.

#include "runtime/error.h"
#include "runtime/utf8.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

bool rt_fail(RtError *err, const char *format, ...) {
    if (!err)
        return false;
    va_list args;
    va_start(args, format);
    int length = vsnprintf(err->text, sizeof err->text, format, args);
    va_end(args);
    if (length < 0) {
        err->text[0] = '\0';
        return false;
    }
    if ((size_t)length < sizeof err->text)
        return false;
    size_t end = sizeof err->text - 1; // cut back to the end of a whole character
    while (end > 0 && ((unsigned char)err->text[end - 1] & 0xC0) == 0x80)
        end--;
    size_t lead = end > 0 ? end - 1 : 0;
    if (!rt_utf8_length(err->text + lead, sizeof err->text - 1 - lead))
        err->text[lead] = '\0';
    return false;
}

char *rt_printable(char *out, unsigned long room, const void *text, unsigned long size) {
    const unsigned char *in = text;
    unsigned long at = 0, put = 0;
    while (at < size) {
        unsigned long length = rt_utf8_length(in + at, size - at);
        bool plain = length > 1 || (length == 1 && in[at] >= 0x20 && in[at] != 0x7F);
        unsigned long need = plain ? length : 4;
        unsigned long kept = at + (plain ? length : 1) < size ? 3 : 0; // room for "..."
        if (put + need + kept + 1 > room)
            break;
        if (plain)
            memcpy(out + put, in + at, length);
        else
            snprintf(out + put, 5, "\\x%02X", in[at]);
        put += need;
        at += plain ? length : 1;
    }
    if (at < size) {
        memcpy(out + put, "...", 3);
        put += 3;
    }
    out[put] = '\0';
    return out;
}
