#include "sim/base/table-layout.h"

#include <string.h>

#define MOST_KEY 20 /* a first column that is wider is not repeated */

/* What is given up, one after the other, until lines are short enough. */
typedef struct {
    guint gap;   /* blanks between columns */
    guint least; /* columns of text are not made narrower than this */
} Style;
static const Style styles[] = {{2, 20}, {2, 12}, {1, 12}, {1, 8}};
static const Style *const narrowest = &styles[G_N_ELEMENTS(styles) - 1];

typedef struct {
    const PsColumn *columns;
    guint n_columns;
    const char *const *texts;
    guint n_rows;
    guint *natural; /* width of each column: its widest text */
} Layout;

/* Some of the columns, side by side. */
typedef struct {
    guint *columns, *widths;
    guint n, gap;
} Block;

static guint text_width(const char *text)
{
    return (guint)g_utf8_strlen(text, -1);
}

static guint *natural_widths(const Layout *layout)
{
    guint *widths = g_new(guint, layout->n_columns);
    for (guint i = 0; i < layout->n_columns; i++) {
        widths[i] = text_width(layout->columns[i].heading);
        for (guint row = 0; row < layout->n_rows; row++) {
            widths[i] = MAX(widths[i], text_width(layout->texts[row * layout->n_columns + i]));
        }
    }
    return widths;
}

/* ---- widths --------------------------------------------------------------------------------- */

static guint total_width(const Block *block)
{
    guint total = block->gap * (block->n - 1);
    for (guint i = 0; i < block->n; i++) {
        total += block->widths[i];
    }
    return total;
}

/* The widest column of text (of equals, the last) that may be narrower; block->n where none may. */
static guint column_to_narrow(const Layout *layout, const Block *block, guint least)
{
    guint widest = block->n;
    for (guint i = 0; i < block->n; i++) {
        if (!layout->columns[block->columns[i]].numeric && block->widths[i] > least &&
            (widest == block->n || block->widths[i] >= block->widths[widest])) {
            widest = i;
        }
    }
    return widest;
}

static gboolean try_style(const Layout *layout, Block *block, const Style *style)
{
    block->gap = style->gap;
    for (guint i = 0; i < block->n; i++) {
        block->widths[i] = layout->natural[block->columns[i]];
    }
    while (total_width(block) > PS_TABLE_WIDTH) {
        guint column = column_to_narrow(layout, block, style->least);
        if (column == block->n) {
            return FALSE;
        }
        block->widths[column]--;
    }
    return TRUE;
}

static gboolean fit(const Layout *layout, Block *block)
{
    for (guint i = 0; i < G_N_ELEMENTS(styles); i++) {
        if (try_style(layout, block, &styles[i])) {
            return TRUE;
        }
    }
    return FALSE;
}

/* ---- lines ---------------------------------------------------------------------------------- */

/* Bytes of text that go on a line of the given width: up to a blank, else cut at the width. */
static gsize piece_length(const char *text, guint width)
{
    if (text_width(text) <= width) {
        return strlen(text);
    }
    const char *limit = g_utf8_offset_to_pointer(text, width);
    const char *blank = limit;
    while (blank > text && *blank != ' ') {
        blank--;
    }
    return (gsize)((blank > text ? blank : limit) - text);
}

/* Adds the next piece of the text to the line; returns what is left of the text. */
static const char *add_piece(GString *line, const char *text, guint width, gboolean right)
{
    gsize length = piece_length(text, width);
    guint blanks = width - MIN(width, (guint)g_utf8_strlen(text, (gssize)length));
    g_string_append_printf(line, "%*s%.*s%*s", right ? (int)blanks : 0, "", (int)length, text,
                           right ? 0 : (int)blanks, "");
    text += length;
    return text + strspn(text, " ");
}

/* One row of the block, on as many lines as its longest text takes. Changes texts. */
static void print_row(const Layout *layout, const Block *block, const char **texts,
                      PsOutput *output)
{
    gboolean more;
    do {
        more = FALSE;
        g_autoptr(GString) line = g_string_new(NULL);
        for (guint i = 0; i < block->n; i++) {
            gboolean right = layout->columns[block->columns[i]].numeric;
            g_string_append_printf(line, "%*s", i > 0 ? (int)block->gap : 0, "");
            texts[i] = add_piece(line, texts[i], block->widths[i], right);
            more |= *texts[i] != '\0';
        }
        ps_output_printf(output, "%s\n", g_strchomp(line->str));
    } while (more);
}

static void print_block(const Layout *layout, const Block *block, PsOutput *output)
{
    g_autofree const char **texts = g_new(const char *, block->n);
    for (guint i = 0; i < block->n; i++) {
        texts[i] = layout->columns[block->columns[i]].heading;
    }
    print_row(layout, block, texts, output);
    for (guint row = 0; row < layout->n_rows; row++) {
        for (guint i = 0; i < block->n; i++) {
            texts[i] = layout->texts[row * layout->n_columns + block->columns[i]];
        }
        print_row(layout, block, texts, output);
    }
}

/* ---- blocks --------------------------------------------------------------------------------- */

/* As many columns from `first` on as fit, behind the first of all; returns the one that is next. */
static guint fill_block(const Layout *layout, guint first, Block *block)
{
    block->n = 0;
    if (first > 0 && layout->natural[0] <= MOST_KEY) {
        block->columns[block->n++] = 0;
    }
    guint next = first;
    block->columns[block->n++] = next++;
    while (next < layout->n_columns) {
        block->columns[block->n++] = next;
        if (!try_style(layout, block, narrowest)) {
            block->n--;
            break;
        }
        next++;
    }
    if (!fit(layout, block)) { /* a number that is too wide by itself */
        (void)try_style(layout, block, narrowest);
    }
    return next;
}

void ps_table_layout_print(const PsColumn *columns, guint n_columns, const char *const *texts,
                           guint n_rows, PsOutput *output)
{
    Layout layout = {columns, n_columns, texts, n_rows, NULL};
    g_autofree guint *natural = layout.natural = natural_widths(&layout);
    g_autofree guint *chosen = g_new(guint, n_columns), *widths = g_new(guint, n_columns);
    Block block = {.columns = chosen, .widths = widths};
    for (guint next = 0; next < n_columns;) {
        if (next > 0) {
            ps_output_puts(output, "\n");
        }
        next = fill_block(&layout, next, &block);
        print_block(&layout, &block, output);
    }
}
