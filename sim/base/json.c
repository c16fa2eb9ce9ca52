#include "sim/base/json.h"

#include <json-glib/json-glib.h>
#include <math.h>
#include <string.h>
#include "sim/base/error.h"
#include "sim/base/json-scan.h"
#include "sim/base/suggest.h"
#include "sim/base/units.h"

#define MAX_EXACT_INTEGER 0x1p53

/* One step of the path. node is NULL on a path that an error has cut off. */
typedef struct {
    JsonNode *node;
    char *key; /* of a member; NULL for an element or the top */
    guint index;
    GPtrArray *keys; /* of node, in file order; made when first asked for */
} Step;

struct PsJsonReader {
    char *path;
    char *text;
    GHashTable *numbers; /* JsonNode -> its text; made when first asked for */
    JsonParser *parser;
    GArray *steps; /* Step; the first is the document */
    GError *error;
};

static void clear_step(gpointer data)
{
    Step *step = data;
    g_clear_pointer(&step->keys, g_ptr_array_unref);
    g_clear_pointer(&step->key, g_free);
}

static Step *here(PsJsonReader *reader)
{
    return &g_array_index(reader->steps, Step, reader->steps->len - 1);
}

static void push(PsJsonReader *reader, JsonNode *node, const char *key, guint index)
{
    Step step = {.node = node, .key = g_strdup(key), .index = index};
    g_array_append_val(reader->steps, step);
}

/* ---- parsing --------------------------------------------------------------------------------- */

/* json-glib keeps the last of doubled keys, but it tells of each member as it is added: where that
 * does not make the object larger, the key was there before. */
typedef struct {
    const char *path;
    GHashTable *sizes; /* JsonObject -> members told of */
    GError *error;
} DoubleKeyWatch;

static void watch_member(JsonParser *parser, JsonObject *object, const char *key,
                         gpointer user_data)
{
    DoubleKeyWatch *watch = user_data;
    guint told = GPOINTER_TO_UINT(g_hash_table_lookup(watch->sizes, object)) + 1;
    g_hash_table_insert(watch->sizes, object, GUINT_TO_POINTER(told));
    if (told > json_object_get_size(object) && watch->error == NULL) {
        ps_error_at(&watch->error, watch->path, json_parser_get_current_line(parser),
                    "key \"%s\" appears twice in an object (expected once)", key);
    }
}

/* An object's address may be used again once its parent was replaced by a double. */
static void watch_end(JsonParser *parser, JsonObject *object, gpointer user_data)
{
    (void)parser;
    g_hash_table_remove(((DoubleKeyWatch *)user_data)->sizes, object);
}

static JsonParser *parse(const char *path, const char *text, gsize length, GError **error)
{
    g_autoptr(JsonParser) parser = json_parser_new_immutable();
    g_autoptr(GHashTable) sizes = g_hash_table_new(NULL, NULL);
    DoubleKeyWatch watch = {.path = path, .sizes = sizes};
    g_signal_connect(parser, "object-member", G_CALLBACK(watch_member), &watch);
    g_signal_connect(parser, "object-end", G_CALLBACK(watch_end), &watch);
    g_autoptr(GError) refused = NULL;
    if (!json_parser_load_from_data(parser, text, (gssize)length, &refused)) {
        ps_error_at(error, path, json_parser_get_current_line(parser), "%s", refused->message);
        return NULL;
    }
    g_signal_handlers_disconnect_by_data(parser, &watch);
    if (watch.error != NULL) {
        g_propagate_error(error, watch.error);
        return NULL;
    }
    return g_steal_pointer(&parser);
}

PsJsonReader *ps_json_parse(const char *path, const char *text, gsize length, GError **error)
{
    g_autofree char *copy = g_malloc(length + 1);
    memcpy(copy, text, length);
    copy[length] = '\0';
    JsonParser *parser =
        ps_json_scan(path, copy, length, error) ? parse(path, copy, length, error) : NULL;
    if (parser == NULL) {
        return NULL;
    }
    PsJsonReader *reader = g_new0(PsJsonReader, 1);
    reader->path = g_strdup(path);
    reader->text = g_steal_pointer(&copy);
    reader->parser = parser;
    reader->steps = g_array_new(FALSE, FALSE, sizeof(Step));
    g_array_set_clear_func(reader->steps, clear_step);
    push(reader, json_parser_get_root(parser), NULL, 0);
    return reader;
}

void ps_json_reader_free(PsJsonReader *reader)
{
    g_array_unref(reader->steps);
    g_object_unref(reader->parser);
    g_clear_error(&reader->error);
    g_clear_pointer(&reader->numbers, g_hash_table_unref);
    g_free(reader->text);
    g_free(reader->path);
    g_free(reader);
}

/* ---- errors ---------------------------------------------------------------------------------- */

static void append_key(GString *text, const char *key)
{
    gboolean plain = *key != '\0' && !g_ascii_isdigit(*key);
    for (const char *c = key; *c != '\0' && plain; c++) {
        plain = g_ascii_isalnum(*c) || *c == '_' || *c == '-';
    }
    g_string_append_printf(text, plain ? ".%s" : "[\"%s\"]", key);
}

static char *place_text(PsJsonReader *reader, const char *key)
{
    GString *text = g_string_new("$");
    for (guint i = 1; i < reader->steps->len; i++) {
        const Step *step = &g_array_index(reader->steps, Step, i);
        if (step->key != NULL) {
            append_key(text, step->key);
        } else {
            g_string_append_printf(text, "[%u]", step->index);
        }
    }
    if (key != NULL) {
        append_key(text, key);
    }
    return g_string_free(text, FALSE);
}

void ps_json_fail(PsJsonReader *reader, const char *key, const char *format, ...)
{
    if (reader->error != NULL) {
        return;
    }
    va_list args;
    va_start(args, format);
    g_autofree char *message = g_strdup_vprintf(format, args);
    va_end(args);
    g_autofree char *place = place_text(reader, key);
    ps_error_at(&reader->error, reader->path, 0, "%s: %s", place, message);
}

gboolean ps_json_failed(PsJsonReader *reader)
{
    return reader->error != NULL;
}

gboolean ps_json_finish(PsJsonReader *reader, GError **error)
{
    if (reader->error == NULL) {
        return TRUE;
    }
    g_propagate_error(error, g_steal_pointer(&reader->error));
    return FALSE;
}

/* What a value is, for messages. Caller frees. */
static char *node_text(JsonNode *node)
{
    if (JSON_NODE_HOLDS_VALUE(node)) {
        GType type = json_node_get_value_type(node);
        if (type == G_TYPE_INT64 || type == G_TYPE_DOUBLE) {
            return ps_double_format(json_node_get_double(node));
        }
        return g_strdup(type == G_TYPE_STRING         ? "a string"
                        : json_node_get_boolean(node) ? "true"
                                                      : "false");
    }
    return g_strdup(JSON_NODE_HOLDS_OBJECT(node)  ? "an object"
                    : JSON_NODE_HOLDS_ARRAY(node) ? "an array"
                                                  : "null");
}

static void fail_expected(PsJsonReader *reader, const char *key, JsonNode *node,
                          const char *expected)
{
    g_autofree char *found = node != NULL ? node_text(node) : g_strdup("missing");
    ps_json_fail(reader, key, "is %s (expected %s)", found, expected);
}

/* ---- moving ---------------------------------------------------------------------------------- */

/* The object or array at the current place; NULL, with the error recorded, if it is none. */
static JsonObject *current_object(PsJsonReader *reader)
{
    JsonNode *node = reader->error == NULL ? here(reader)->node : NULL;
    if (node == NULL || JSON_NODE_HOLDS_OBJECT(node)) {
        return node != NULL ? json_node_get_object(node) : NULL;
    }
    fail_expected(reader, NULL, node, "an object");
    return NULL;
}

static JsonArray *current_array(PsJsonReader *reader)
{
    JsonNode *node = reader->error == NULL ? here(reader)->node : NULL;
    if (node == NULL || JSON_NODE_HOLDS_ARRAY(node)) {
        return node != NULL ? json_node_get_array(node) : NULL;
    }
    fail_expected(reader, NULL, node, "an array");
    return NULL;
}

/* The member, or the current value for a NULL key; NULL where there is none. */
static JsonNode *find_value(PsJsonReader *reader, const char *key)
{
    if (reader->error != NULL || key == NULL) {
        return reader->error == NULL ? here(reader)->node : NULL;
    }
    JsonObject *object = current_object(reader);
    return object != NULL ? json_object_get_member(object, key) : NULL;
}

void ps_json_enter(PsJsonReader *reader, const char *key)
{
    JsonNode *node = find_value(reader, key);
    if (node == NULL) {
        fail_expected(reader, key, NULL, "a value");
    }
    push(reader, node, key, 0);
}

void ps_json_enter_index(PsJsonReader *reader, guint index)
{
    JsonArray *array = current_array(reader);
    guint length = array != NULL ? json_array_get_length(array) : 0;
    if (array != NULL && index >= length) {
        ps_json_fail(reader, NULL, "has %u elements (expected at least %u)", length, index + 1);
    }
    push(reader, index < length ? json_array_get_element(array, index) : NULL, NULL, index);
}

void ps_json_leave(PsJsonReader *reader)
{
    g_return_if_fail(reader->steps->len > 1);
    g_array_set_size(reader->steps, reader->steps->len - 1);
}

/* ---- about the current place ----------------------------------------------------------------- */

gboolean ps_json_is_object(PsJsonReader *reader)
{
    JsonNode *node = reader->error == NULL ? here(reader)->node : NULL;
    return node != NULL && JSON_NODE_HOLDS_OBJECT(node);
}

gboolean ps_json_is_array(PsJsonReader *reader)
{
    JsonNode *node = reader->error == NULL ? here(reader)->node : NULL;
    return node != NULL && JSON_NODE_HOLDS_ARRAY(node);
}

gboolean ps_json_has(PsJsonReader *reader, const char *key)
{
    JsonObject *object = current_object(reader);
    return object != NULL && json_object_has_member(object, key);
}

guint ps_json_size(PsJsonReader *reader)
{
    if (ps_json_is_object(reader)) {
        return json_object_get_size(current_object(reader));
    }
    JsonArray *array = current_array(reader);
    return array != NULL ? json_array_get_length(array) : 0;
}

static GPtrArray *list_keys(JsonObject *object)
{
    GPtrArray *keys = g_ptr_array_new();
    JsonObjectIter iter;
    const char *key;
    json_object_iter_init_ordered(&iter, object);
    while (json_object_iter_next_ordered(&iter, &key, NULL)) {
        g_ptr_array_add(keys, (gpointer)key);
    }
    return keys;
}

const char *ps_json_key(PsJsonReader *reader, guint index)
{
    JsonObject *object = current_object(reader);
    if (object == NULL || index >= json_object_get_size(object)) {
        return "";
    }
    Step *step = here(reader);
    if (step->keys == NULL) {
        step->keys = list_keys(object);
    }
    return g_ptr_array_index(step->keys, index);
}

void ps_json_expect_object(PsJsonReader *reader)
{
    current_object(reader);
}

void ps_json_expect_array(PsJsonReader *reader)
{
    current_array(reader);
}

void ps_json_expect_keys(PsJsonReader *reader, const char *const *keys)
{
    JsonObject *object = current_object(reader);
    guint n = object != NULL ? json_object_get_size(object) : 0;
    for (guint i = 0; i < n; i++) {
        const char *key = ps_json_key(reader, i);
        if (!g_strv_contains(keys, key)) {
            g_autofree char *hint = ps_suggest_text(key, keys);
            ps_json_fail(reader, key, "unknown key%s", hint);
            return;
        }
    }
}

/* ---- values ---------------------------------------------------------------------------------- */

static GType value_type(JsonNode *node)
{
    return node != NULL && JSON_NODE_HOLDS_VALUE(node) ? json_node_get_value_type(node)
                                                       : G_TYPE_NONE;
}

static gboolean is_number(JsonNode *node)
{
    GType type = value_type(node);
    return type == G_TYPE_INT64 || type == G_TYPE_DOUBLE;
}

static double number(JsonNode *node)
{
    return is_number(node) ? json_node_get_double(node) : NAN;
}

/* "a whole number from 1 to 8", "a number of at least 0", "a number above 0". Limits that the kind
 * cannot reach are no limits. Caller frees. */
static char *range_text(const char *kind, double min, double max, double reach)
{
    g_autofree char *low = ps_double_format(min), *high = ps_double_format(max);
    gboolean no_low = min <= -reach, no_high = max >= reach;
    if (no_low || min == G_MINDOUBLE) {
        const char *above = no_low ? "" : " above 0";
        const char *at_most = no_high ? "" : no_low ? " of at most " : " and at most ";
        return g_strconcat(kind, above, at_most, no_high ? "" : high, NULL);
    }
    return no_high ? g_strconcat(kind, " of at least ", low, NULL)
                   : g_strconcat(kind, " from ", low, " to ", high, NULL);
}

double ps_json_double(PsJsonReader *reader, const char *key, double min, double max)
{
    JsonNode *node = find_value(reader, key);
    double value = number(node);
    if (value >= min && value <= max) {
        return value;
    }
    g_autofree char *expected = range_text("a number", min, max, G_MAXDOUBLE);
    fail_expected(reader, key, node, expected);
    return 0;
}

gint64 ps_json_int(PsJsonReader *reader, const char *key, gint64 min, gint64 max)
{
    JsonNode *node = find_value(reader, key);
    double value = number(node);
    /* "8.0" is a whole number too: many programs write every number so. */
    if (value == rint(value) && fabs(value) <= MAX_EXACT_INTEGER && (gint64)value >= min &&
        (gint64)value <= max) {
        return (gint64)value;
    }
    g_autofree char *expected =
        range_text("a whole number", (double)min, (double)max, MAX_EXACT_INTEGER);
    fail_expected(reader, key, node, expected);
    return 0;
}

gboolean ps_json_boolean(PsJsonReader *reader, const char *key)
{
    JsonNode *node = find_value(reader, key);
    if (value_type(node) == G_TYPE_BOOLEAN) {
        return json_node_get_boolean(node);
    }
    fail_expected(reader, key, node, "true or false");
    return FALSE;
}

const char *ps_json_string(PsJsonReader *reader, const char *key)
{
    JsonNode *node = find_value(reader, key);
    if (value_type(node) == G_TYPE_STRING) {
        return json_node_get_string(node);
    }
    fail_expected(reader, key, node, "a string");
    return "";
}

/* ---- numbers as they are spelled ------------------------------------------------------------- */

/* The next number of a text that ps_json_scan has passed, from *at on, where nothing but a string
 * hides digits. Moves *at behind it. Caller frees. */
static char *next_number(const char **at)
{
    const char *c = *at;
    while (*c != '-' && !g_ascii_isdigit(*c)) {
        if (*c++ == '"') {
            for (; *c != '"'; c++) {
                c += *c == '\\';
            }
            c++;
        }
    }
    *at = c + strspn(c, "+-.0123456789Ee");
    return g_strndup(c, (gsize)(*at - c));
}

/* json-glib keeps members in the order of the file, so the numbers of the document, one after the
 * other, are those of the text. */
typedef struct {
    GHashTable *numbers;
    const char *at;
} Spelling;

static void spell(JsonNode *node, Spelling *spelling);

static void spell_member(JsonObject *object, const char *key, JsonNode *node, gpointer user_data)
{
    (void)object;
    (void)key;
    spell(node, user_data);
}

static void spell_element(JsonArray *array, guint index, JsonNode *node, gpointer user_data)
{
    (void)array;
    (void)index;
    spell(node, user_data);
}

static void spell(JsonNode *node, Spelling *spelling)
{
    if (JSON_NODE_HOLDS_OBJECT(node)) {
        json_object_foreach_member(json_node_get_object(node), spell_member, spelling);
    } else if (JSON_NODE_HOLDS_ARRAY(node)) {
        json_array_foreach_element(json_node_get_array(node), spell_element, spelling);
    } else if (is_number(node)) {
        g_hash_table_insert(spelling->numbers, node, next_number(&spelling->at));
    }
}

const char *ps_json_number_text(PsJsonReader *reader, const char *key)
{
    JsonNode *node = find_value(reader, key);
    if (!is_number(node)) {
        fail_expected(reader, key, node, "a number");
        return "";
    }
    if (reader->numbers == NULL) {
        reader->numbers = g_hash_table_new_full(NULL, NULL, NULL, g_free);
        Spelling spelling = {reader->numbers, reader->text};
        spell(json_parser_get_root(reader->parser), &spelling);
    }
    return g_hash_table_lookup(reader->numbers, node);
}
