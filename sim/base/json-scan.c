#include "sim/base/json-scan.h"

#include <math.h>
#include <string.h>
#include "sim/base/error.h"

#define MAX_DEPTH 200
#define MAX_EXACT_INTEGER (G_GUINT64_CONSTANT(1) << 53)

typedef struct {
    const char *path, *text, *at, *end; /* *end is NUL: looking one byte ahead is always safe */
    GError **error;
} Scanner;

static gboolean refuse(const Scanner *scanner, const char *what, const char *expected)
{
    guint line = 1;
    for (const char *c = scanner->text; c < scanner->at; c++) {
        line += *c == '\n';
    }
    ps_error_at(scanner->error, scanner->path, line, "%s (expected %s)", what, expected);
    return FALSE;
}

/* Refuses whatever comes next. */
static gboolean refuse_next(const Scanner *scanner, const char *expected)
{
    g_autofree char *what = NULL;
    if (scanner->at == scanner->end) {
        what = g_strdup("the text ends too early");
    } else if (g_ascii_isgraph(*scanner->at)) {
        what = g_strdup_printf("unexpected '%c'", *scanner->at);
    } else {
        what = g_strdup_printf("unexpected byte 0x%02x", (guchar)*scanner->at);
    }
    return refuse(scanner, what, expected);
}

static void skip_blanks(Scanner *scanner)
{
    scanner->at += strspn(scanner->at, " \t\n\r");
}

static gboolean take(Scanner *scanner, char c)
{
    gboolean found = *scanner->at == c;
    scanner->at += found;
    return found;
}

static gboolean take_digits(Scanner *scanner)
{
    const char *start = scanner->at;
    while (g_ascii_isdigit(*scanner->at)) {
        scanner->at++;
    }
    return scanner->at > start || refuse_next(scanner, "a digit");
}

static gboolean scan_number(Scanner *scanner)
{
    const char *start = scanner->at;
    gboolean integer = TRUE;
    take(scanner, '-');
    if (!take(scanner, '0') && !take_digits(scanner)) {
        return FALSE;
    }
    if (g_ascii_isdigit(*scanner->at)) {
        return refuse(scanner, "a number begins with 0", "no leading zeros");
    }
    if (take(scanner, '.')) {
        integer = FALSE;
        if (!take_digits(scanner)) {
            return FALSE;
        }
    }
    if (take(scanner, 'e') || take(scanner, 'E')) {
        integer = FALSE;
        if (!take(scanner, '+')) {
            take(scanner, '-');
        }
        if (!take_digits(scanner)) {
            return FALSE;
        }
    }
    if (integer && g_ascii_strtoull(start + (*start == '-'), NULL, 10) > MAX_EXACT_INTEGER) {
        return refuse(scanner, "the integer is too large", "at most 9007199254740992");
    }
    return integer || isfinite(g_ascii_strtod(start, NULL)) ||
           refuse(scanner, "the number is too large", "a finite number");
}

/* Four hex digits of \u; -1 where they are not there. */
static int take_hex(Scanner *scanner)
{
    int code = 0;
    for (int i = 0; i < 4; i++) {
        int digit = g_ascii_xdigit_value(*scanner->at);
        if (digit < 0) {
            return -1;
        }
        scanner->at++;
        code = 16 * code + digit;
    }
    return code;
}

static gboolean scan_escape(Scanner *scanner)
{
    if (!take(scanner, 'u')) {
        if (*scanner->at == '\0' || strchr("\"\\/bfnrt", *scanner->at) == NULL) {
            return refuse_next(scanner, "one of \"\\/bfnrtu after a backslash");
        }
        scanner->at++;
        return TRUE;
    }
    int code = take_hex(scanner);
    if (code >= 0xd800 && code < 0xdc00) {
        int low = take(scanner, '\\') && take(scanner, 'u') ? take_hex(scanner) : -1;
        code = low >= 0xdc00 && low < 0xe000 ? 0x10000 : -1;
    }
    gboolean good = code > 0 && (code < 0xdc00 || code >= 0xe000);
    return good || refuse(scanner, "bad \\u escape",
                          "four hex digits of a character other than NUL, or a surrogate pair");
}

static gboolean scan_string(Scanner *scanner)
{
    if (!take(scanner, '"')) {
        return refuse_next(scanner, "a string in double quotes");
    }
    while (!take(scanner, '"')) {
        if ((guchar)*scanner->at < 0x20) {
            return refuse_next(scanner, "a closing quote; control characters need an escape");
        }
        if (*scanner->at++ == '\\' && !scan_escape(scanner)) {
            return FALSE;
        }
    }
    return TRUE;
}

static gboolean scan_scalar(Scanner *scanner)
{
    static const char *const words[] = {"true", "false", "null"};
    if (*scanner->at == '"') {
        return scan_string(scanner);
    }
    if (*scanner->at == '-' || g_ascii_isdigit(*scanner->at)) {
        return scan_number(scanner);
    }
    for (gsize i = 0; i < G_N_ELEMENTS(words); i++) {
        if (g_str_has_prefix(scanner->at, words[i])) {
            scanner->at += strlen(words[i]);
            return TRUE;
        }
    }
    return refuse_next(scanner, "a value");
}

static gboolean scan_key(Scanner *scanner)
{
    skip_blanks(scanner);
    if (!scan_string(scanner)) {
        return FALSE;
    }
    skip_blanks(scanner);
    return take(scanner, ':') || refuse_next(scanner, "':' after a key");
}

/* Iterative, with the open brackets on a stack of closers, so that no text can exhaust the C
 * stack. Each turn scans the beginning of one value, then whatever it closes. */
static gboolean scan_value(Scanner *scanner)
{
    char closers[MAX_DEPTH];
    guint depth = 0;
    do {
        skip_blanks(scanner);
        char open = *scanner->at;
        if (open == '{' || open == '[') {
            if (depth == MAX_DEPTH) {
                return refuse(scanner, "nested too deeply", "at most 200 levels");
            }
            closers[depth++] = open == '{' ? '}' : ']';
            scanner->at++;
            skip_blanks(scanner);
            if (*scanner->at != closers[depth - 1]) {
                if (open == '{' && !scan_key(scanner)) {
                    return FALSE;
                }
                continue;
            }
        } else if (!scan_scalar(scanner)) {
            return FALSE;
        }
        skip_blanks(scanner);
        while (depth > 0 && take(scanner, closers[depth - 1])) {
            depth--;
            skip_blanks(scanner);
        }
        gboolean in_object = depth > 0 && closers[depth - 1] == '}';
        if (depth > 0 && !take(scanner, ',')) {
            return refuse_next(scanner, in_object ? "',' or '}'" : "',' or ']'");
        }
        if (in_object && !scan_key(scanner)) {
            return FALSE;
        }
    } while (depth > 0);
    return scanner->at == scanner->end || refuse_next(scanner, "the end of the text");
}

gboolean ps_json_scan(const char *path, const char *text, gsize length, GError **error)
{
    Scanner scanner = {path, text, text, text + length, error};
    if (!g_utf8_validate_len(text, length, &scanner.at)) {
        return refuse(&scanner, "not valid text", "UTF-8 without NUL");
    }
    /* RFC 8259 leaves a byte order mark to the reader; CSV and key files take one as well. */
    scanner.at = g_str_has_prefix(text, "\357\273\277") ? text + 3 : text;
    return scan_value(&scanner);
}
