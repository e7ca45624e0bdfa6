//! Shamir's secret sharing over GF(2^8): parts of a data key into the key. The last byte of a part is its coordinate.

/// Joins parts; `None` when they are fewer than two, of different lengths, or of one coordinate.
pub(super) fn combine(parts: &[Vec<u8>]) -> Option<Vec<u8>> {
    let length = parts.first()?.len();
    if parts.len() < 2 || length < 2 || parts.iter().any(|part| part.len() != length) {
        return None;
    }
    let coordinates: Vec<u8> = parts.iter().filter_map(|part| part.last().copied()).collect();
    let weights: Vec<u8> = (0..parts.len()).map(|i| weight(&coordinates, i)).collect::<Option<_>>()?;
    let byte = |at: usize| parts.iter().zip(&weights).fold(0, |sum, (part, weight)| sum ^ multiply(part[at], *weight));
    Some((0..length - 1).map(byte).collect())
}

/// The value at zero of the Lagrange polynomial that is one at coordinate `i` and zero at the others.
fn weight(coordinates: &[u8], i: usize) -> Option<u8> {
    let mut product = 1;
    for (j, other) in coordinates.iter().enumerate().filter(|(j, _)| *j != i) {
        debug_assert!(j != i, "filtered");
        let difference = coordinates[i] ^ other;
        if difference == 0 {
            return None;
        }
        product = multiply(product, multiply(*other, invert(difference)));
    }
    Some(product)
}

/// Multiplies modulo x^8 + x^4 + x^3 + x + 1.
fn multiply(mut a: u8, mut b: u8) -> u8 {
    let mut product = 0;
    while b != 0 {
        if b & 1 == 1 {
            product ^= a;
        }
        let carry = a & 0x80 != 0;
        a <<= 1;
        if carry {
            a ^= 0x1b;
        }
        b >>= 1;
    }
    product
}

/// The inverse is the 254th power, as the group has 255 elements.
fn invert(a: u8) -> u8 {
    (0..253).fold(a, |power, _| multiply(power, a))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn inverses_multiply_to_one() {
        for a in 1..=255 {
            assert_eq!(multiply(a, invert(a)), 1);
        }
    }

    #[test]
    fn parts_on_a_line_give_its_value_at_zero() {
        // secret 0x2a with slope 0x07, at the coordinates 1, 2 and 3
        let part = |x: u8| vec![0x2a ^ multiply(0x07, x), x];
        assert_eq!(combine(&[part(1), part(3)]), Some(vec![0x2a]));
        assert_eq!(combine(&[part(3), part(2)]), Some(vec![0x2a]));
        assert_eq!(combine(&[part(1)]), None);
        assert_eq!(combine(&[part(1), part(1)]), None);
    }
}
