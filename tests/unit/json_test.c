// Tests of the strict JSON reader.

#include "runtime/json.h"
#include "weights_help.h"

#include <math.h>

static void refuse_at(Test *t, const char *text, size_t size, const char *part, int line) {
    RtError err = {{0}};
    char *copy = malloc(size ? size : 1); // of exactly this size: ASan watches its end
    if (!copy)
        abort();
    memcpy(copy, text, size);
    RtJson *json = rt_json_parse(copy, size, "x", NULL, &err);
    refused_at(t, !json, err.text, part, __FILE__, line);
    rt_json_free(json);
    free(copy);
}

#define REFUSE(t, text, part) refuse_at((t), (text), sizeof(text) - 1, (part), __LINE__)

static void test_grammar(Test *t) {
    REFUSE(t, "", "x:1:1: no JSON value");
    REFUSE(t, " \n ", "x:2:2: no JSON value");
    REFUSE(t, "{", "x:1:2: a key in double quotes");
    REFUSE(t, "{\"a\"", "':' was expected");
    REFUSE(t, "{\"a\":", "a value was expected");
    REFUSE(t, "{\"a\":1", "x:1:1: this bracket is not closed");
    REFUSE(t, "{\"a\":1,}", "a key in double quotes");
    REFUSE(t, "{a:1}", "a key in double quotes");
    REFUSE(t, "{'a':1}", "a key in double quotes");
    REFUSE(t, "[1,]", "x:1:4: a value was expected");
    REFUSE(t, "[1 2]", "',' or the closing bracket");
    REFUSE(t, "[1}", "',' or the closing bracket");
    REFUSE(t, "[1]]", "x:1:4: text after");
    REFUSE(t, "// x\n1", "a value was expected");
    REFUSE(t, "nul", "a value was expected");
    REFUSE(t, "NaN", "NaN");
    REFUSE(t, "Infinity", "a value was expected");
    REFUSE(t, "True", "a value was expected");
    REFUSE(t, "truex", "text after");
    REFUSE(t, "\"a", "x:1:1: this string does not end");
    REFUSE(t, "\"a\nb\"", "x:1:3: control character");
    REFUSE(t, "\"a\0b\"", "control character");
    REFUSE(t, "[1]\0", "text after");
    REFUSE(t, "\xEF\xBB\xBF{}", "byte order mark");
    REFUSE(t, "[\"\xC0\x80\"]", "x:1:3: not UTF-8");
    REFUSE(t, "[\"\xED\xA0\x80\"]", "not UTF-8");
    REFUSE(t, "[\"\xF4\x90\x80\x80\"]", "not UTF-8");
    REFUSE(t, "[\"\xE2\x82\"]", "not UTF-8");
}

static void test_numbers(Test *t) {
    REFUSE(t, "01", "may not begin with 0");
    REFUSE(t, "-01", "may not begin with 0");
    REFUSE(t, "-", "a digit was expected");
    REFUSE(t, "+1", "a value was expected");
    REFUSE(t, ".5", "a value was expected");
    REFUSE(t, "1.", "after the point");
    REFUSE(t, "1e", "in the exponent");
    REFUSE(t, "1e+", "in the exponent");
    REFUSE(t, "0x10", "text after");
    REFUSE(t, "1.2.3", "text after");
}

static void test_escapes(Test *t) {
    RtError err = {{0}};
    static const char text[] = "[\"\\u0041\\n\\\\\\/\\\"\\b\\f\\r\\t\\u00e9\\u20AC\\ud83d\\ude00\","
                               "\"a\\u0000b\", \"\\u0000\"]";
    static const char wanted[] = "A\n\\/\"\b\f\r\té€😀";
    RtJson *json = rt_json_parse(text, sizeof text - 1, "x", NULL, &err);
    CHECK(t, json != NULL);
    if (json) {
        const RtJsonValue *v = rt_json_first(rt_json_root(json));
        CHECK(t, rt_json_equals(v, wanted) && strcmp(rt_json_text(v), wanted) == 0);
        v = rt_json_next(v);
        CHECK(t, v->length == 3 && memcmp(v->text, "a\0b", 4) == 0 && !rt_json_text(v));
        CHECK(t, rt_json_next(v) && !rt_json_next(rt_json_next(v)));
    }
    rt_json_free(json);
    REFUSE(t, "\"\\x41\"", "unknown escape");
    REFUSE(t, "\"\\", "unknown escape");
    REFUSE(t, "\"\\u12\"", "four hexadecimal digits");
    REFUSE(t, "\"\\u12", "four hexadecimal digits");
    REFUSE(t, "\"\\ud83d\"", "half of a surrogate pair");
    REFUSE(t, "\"\\ud83dx\"", "half of a surrogate pair");
    REFUSE(t, "\"\\ude00\"", "half of a surrogate pair");
    REFUSE(t, "\"\\ud83d\\u0041\"", "half of a surrogate pair");
    REFUSE(t, "\"\\ud83d\\u", "half of a surrogate pair");
}

// An object of `count` keys "k0", "k1", ..., and "k<last>" once more.
static void many_keys(Test *t, int count, int last) {
    size_t room = (size_t)count * 16 + 64, at = 0;
    char *text = malloc(room);
    char part[64];
    if (!text)
        abort();
    at += (size_t)snprintf(text + at, room - at, "{");
    for (int i = 0; i < count; i++)
        at += (size_t)snprintf(text + at, room - at, "\"k%d\":%d,", i, i);
    at += (size_t)snprintf(text + at, room - at, "\"k%d\":0}", last);
    snprintf(part, sizeof part, "\"k%d\" occurs twice", last);
    RtError err = {{0}};
    RtJson *json = rt_json_parse(text, at, "x", NULL, &err);
    if (last < count) {
        REFUSED(t, !json, err.text, part);
    } else {
        CHECK(t, json && rt_json_root(json)->length == (uint32_t)count + 1);
        CHECK(t, json && rt_json_find(rt_json_root(json), "k7"));
    }
    rt_json_free(json);
    free(text);
}

static void test_keys(Test *t) {
    REFUSE(t, "{\"a\":1,\"a\":2}", "x:1:9: the key \"a\" occurs twice");
    REFUSE(t, "{\"a\":1,\"b\":{},\"\\u0061\":2}", "occurs twice");
    REFUSE(t, "[{\"a\":{\"b\":1,\"b\":1}}]", "occurs twice");
    for (int count = 1; count < 40; count++) {
        many_keys(t, count, 0);
        many_keys(t, count, count - 1);
        if (count > 8)
            many_keys(t, count, count);
    }
    many_keys(t, 100000, 5);
    many_keys(t, 100000, 100000);
}

static void test_limits(Test *t) {
    RtError err = {{0}};
    static const RtJsonLimits small = {10, 2, 4};
    char deep[200];
    RtJson *json = rt_json_parse("[[],1]", 6, "x", &small, &err);
    CHECK(t, json != NULL);
    rt_json_free(json);
    REFUSED(t, !rt_json_parse("[[[]]]", 6, "x", &small, &err), err.text, "nested too deeply");
    REFUSED(t, !rt_json_parse("[1,2,3,4]", 9, "x", &small, &err), err.text, "too many values");
    REFUSED(t, !rt_json_parse("[1,2, 3   ]", 11, "x", &small, &err), err.text, "at most 10");
    memset(deep, '[', sizeof deep);
    REFUSED(t, !rt_json_parse(deep, sizeof deep, "x", NULL, &err), err.text, "x:1:65: nested");
    REFUSED(t, !rt_json_read("/nowhere/x", NULL, &err), err.text, "No such file");
}

// The messages of the required members of the object below.
static void test_need(Test *t, const RtJson *json, const RtJsonValue *o) {
    RtError err = {{0}};
    int64_t i;
    double d;
    bool b;
    CHECK(t, rt_json_need_i64(json, o, "z", 0, 9, &i, &err));
    REFUSED(t, !rt_json_need_i64(json, o, "f", 1, 9, &i, &err), err.text,
            "c.json: \"f\" must be an integer from 1 to 9, it is 4.0");
    REFUSED(t, !rt_json_need_i64(json, o, "z", 1, 9, &i, &err), err.text, "it is -0");
    REFUSED(t, !rt_json_need_i64(json, o, "q", 1, 9, &i, &err), err.text, "\"q\" is missing");
    REFUSED(t, !rt_json_need_i64(json, NULL, "q", 1, 9, &i, &err), err.text, "an object with");
    REFUSED(t, !rt_json_need_number(json, o, "inf", &d, &err), err.text, "a finite number");
    REFUSED(t, !rt_json_need_bool(json, o, "n", &b, &err), err.text, "true or false, it is null");
    REFUSED(t, !rt_json_need_text(json, o, "o", &err), err.text, "it is an object");
    REFUSED(t, !rt_json_need(json, o, "s", RT_JSON_ARRAY, &err), err.text, "a list, it is \"x\"");
    CHECK(t, rt_json_need(json, o, "o", RT_JSON_OBJECT, &err) != NULL);
    CHECK(t, strcmp(rt_json_need_text(json, o, "s", &err), "x") == 0);
}

static void test_values(Test *t) {
    static const char text[] =
        "{\"i\":-9223372036854775808,\"u\":18446744073709551615,\"over\":18446744073709551616,"
        "\"z\":-0,\"f\":4.0,\"e\":1e2,\"inf\":1e999,\"tiny\":1e-999,\"b\":true,\"n\":null,"
        "\"s\":\"x\",\"o\":{\"p\":[]},\"last\":0.1}";
    RtError err = {{0}};
    RtJson *json = rt_json_parse(text, sizeof text - 1, "c.json", NULL, &err);
    CHECK(t, json != NULL);
    if (!json)
        return;
    const RtJsonValue *o = rt_json_root(json);
    int64_t i = 1;
    uint64_t u = 0;
    double d = 0;
    bool b = false;
    CHECK(t, rt_json_i64(rt_json_find(o, "i"), &i) && i == INT64_MIN);
    CHECK(t, !rt_json_u64(rt_json_find(o, "i"), &u) && !rt_json_i64(rt_json_find(o, "u"), &i));
    CHECK(t, rt_json_u64(rt_json_find(o, "u"), &u) && u == UINT64_MAX);
    CHECK(t, !rt_json_u64(rt_json_find(o, "over"), &u));
    CHECK(t, rt_json_i64(rt_json_find(o, "z"), &i) && i == 0);
    CHECK(t, !rt_json_i64(rt_json_find(o, "f"), &i) && !rt_json_i64(rt_json_find(o, "e"), &i));
    CHECK(t, rt_json_number(rt_json_find(o, "f"), &d) && d == 4.0);
    CHECK(t, rt_json_number(rt_json_find(o, "last"), &d) && d == 0.1);
    CHECK(t, !rt_json_number(rt_json_find(o, "inf"), &d) && !rt_json_number(NULL, &d));
    CHECK(t, rt_json_number(rt_json_find(o, "tiny"), &d) && d == 0);
    CHECK(t, rt_json_bool(rt_json_find(o, "b"), &b) && b && rt_json_is_null(rt_json_find(o, "n")));
    CHECK(t, !rt_json_bool(rt_json_find(o, "n"), &b) && !rt_json_find(rt_json_find(o, "s"), "x"));
    CHECK(t, rt_json_find(rt_json_find(o, "o"), "p") && !rt_json_find(o, "p"));
    CHECK(t, rt_json_first(rt_json_find(rt_json_find(o, "o"), "p")) == NULL);
    test_need(t, json, o);
    rt_json_free(json);
}

// Messages stay whole characters and printable, whatever a file holds.
static void test_messages(Test *t) {
    RtError err = {{0}};
    char text[400], out[16];
    for (int length = 0; length < 40; length++) {
        rt_printable(out, sizeof out, "aé€😀\n\xFF\x01zzzzzzzzzzzzzzzzzzzzzzzzz", (size_t)length);
        CHECK(t, strlen(out) < sizeof out && !strchr(out, '\n'));
    }
    CHECK(t, strcmp(rt_printable(out, sizeof out, "a\n\xFF", 3), "a\\x0A\\xFF") == 0);
    CHECK(t,
          strcmp(rt_printable(out, sizeof out, "0123456789abcdefgh", 18), "0123456789ab...") == 0);
    memset(text, 'x', sizeof text);
    memcpy(text + sizeof text - 3, "é", 3);
    rt_fail(&err, "%s%.110s%s", text, text, "é€😀😀😀😀"); // one past the room in the middle of one
    CHECK(t, strlen(err.text) < sizeof err.text);
    CHECK(t, strstr(err.text, "é") && (unsigned char)err.text[strlen(err.text) - 1] >= 0x80);
    CHECK(t, !rt_fail(NULL, "nobody hears"));
}

int main(void) {
    Test t;
    test_begin(&t);
    test_grammar(&t);
    test_numbers(&t);
    test_escapes(&t);
    test_keys(&t);
    test_limits(&t);
    test_values(&t);
    test_messages(&t);
    return test_end(&t);
}
