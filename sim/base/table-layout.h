/* Rows of text as aligned columns within the width of a line. */
#pragma once

#include "sim/base/table.h"

/* Prints headings and rows; texts[row * n_columns + column]. Columns are as wide as their widest
 * text and two blanks apart, numbers to the right. Where that is too wide, columns of text wrap,
 * the widest ones first; where that is not enough, one blank must do; and where the numbers alone
 * are too wide, the columns go into several tables, one below the other, each of which begins with
 * the first column unless that is wide itself. So no line is longer than PS_TABLE_WIDTH unless a
 * number is. */
void ps_table_layout_print(const PsColumn *columns, guint n_columns, const char *const *texts,
                           guint n_rows, PsOutput *output);
