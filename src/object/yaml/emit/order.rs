//! The order of keys in go-yaml: numbers in keys by their value, letters after everything else.

use std::cmp::Ordering;

/// Sorts keys. The comparison is no order in the strict sense (`10` < `1a` < `2` < `10`), which the
/// library's sorting may refuse; merging does not mind.
pub(super) fn sorted(mut keys: Vec<&String>) -> Vec<&String> {
    let right = keys.split_off(keys.len() / 2);
    if keys.is_empty() {
        return right;
    }
    let (mut left, mut right) = (sorted(keys).into_iter().peekable(), sorted(right).into_iter().peekable());
    let mut merged = Vec::with_capacity(left.len() + right.len());
    while let (Some(a), Some(b)) = (left.peek(), right.peek()) {
        let next = if compare(a, b) == Ordering::Greater { right.next() } else { left.next() };
        merged.extend(next);
    }
    merged.extend(left);
    merged.extend(right);
    merged
}

/// Compares two keys at the first character in which they differ.
fn compare(a: &str, b: &str) -> Ordering {
    let (a, b): (Vec<char>, Vec<char>) = (a.chars().collect(), b.chars().collect());
    let Some(at) = a.iter().zip(&b).position(|(x, y)| x != y) else { return a.len().cmp(&b.len()) };
    match (a[at].is_alphabetic(), b[at].is_alphabetic()) {
        (true, true) => return a[at].cmp(&b[at]),
        (true, false) => return Ordering::Greater,
        (false, true) => return Ordering::Less,
        (false, false) => {}
    }
    // A zero within a number counts, a leading one does not.
    let within_number =
        (a[at] == '0' || b[at] == '0') && a[..at].iter().rev().take_while(|c| c.is_numeric()).any(|c| *c != '0');
    let (a_number, a_digits) = run(&a[at..], within_number);
    let (b_number, b_digits) = run(&b[at..], within_number);
    a_number.cmp(&b_number).then(a_digits.cmp(&b_digits)).then(a[at].cmp(&b[at]))
}

/// The number that digits make, and how many there are.
fn run(text: &[char], within_number: bool) -> (i64, usize) {
    let digits = text.iter().take_while(|c| c.is_numeric());
    let number = digits.clone().fold(i64::from(within_number), |number, c| {
        number.wrapping_mul(10).wrapping_add(i64::from(u32::from(*c)) - i64::from(u32::from('0')))
    });
    (number, digits.count())
}
