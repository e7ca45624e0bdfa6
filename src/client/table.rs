//! Columns as Go's `tabwriter` sets them, because people cut v1's tables with `awk`: cells end at tabs, columns are
//! aligned over adjacent lines, two blanks stand between them, and the last cell of a line is not padded.

/// Blanks between columns.
const PADDING: usize = 2;

/// Sets text whose cells end with tabs into columns.
pub fn columns(text: &str) -> String {
    let lines: Vec<Vec<&str>> = text.lines().map(|line| line.split('\t').collect()).collect();
    let mut widths: Vec<Vec<usize>> = lines.iter().map(|cells| vec![0; cells.len() - 1]).collect();
    let most = widths.iter().map(Vec::len).max().unwrap_or_default();
    for column in 0..most {
        let mut at = 0;
        while at < lines.len() {
            let end = (at..lines.len()).find(|line| widths[*line].len() <= column).unwrap_or(lines.len());
            let width = (at..end).map(|line| lines[line][column].chars().count()).max().unwrap_or_default() + PADDING;
            (at..end).for_each(|line| widths[line][column] = width);
            at = end + 1;
        }
    }
    let mut out = String::with_capacity(text.len() * 2);
    for (cells, widths) in lines.iter().zip(&widths) {
        for (at, cell) in cells.iter().enumerate() {
            out.push_str(cell);
            let blanks = widths.get(at).map_or(0, |width| width - cell.chars().count());
            out.extend(std::iter::repeat_n(' ', blanks));
        }
        out.push('\n');
    }
    out
}

#[cfg(test)]
mod tests {
    use super::columns;

    #[test]
    fn columns_are_as_wide_as_their_widest_cell_and_two_blanks() {
        assert_eq!(columns("A\tBB\tC\nlong\t\tx\n"), "A     BB  C\nlong      x\n");
    }

    #[test]
    fn a_column_of_empty_cells_still_has_its_two_blanks() {
        assert_eq!(columns("a\t\tb\n"), "a    b\n");
    }

    #[test]
    fn a_line_with_fewer_cells_ends_the_columns_above_it() {
        assert_eq!(columns("aaaa\tb\nc\nd\te\n"), "aaaa  b\nc\nd  e\n");
    }
}
