//! The minimum of a smooth function of up to three variables, from its values and gradients.
//!
//! The method is BFGS (Nocedal and Wright, Numerical Optimization, 2006, chapter 6) with a backtracking line search. A
//! likelihood of 4,096 values needs about 15 evaluations, where Nelder–Mead needs 200.

/// How many variables a function can have.
pub(crate) const MOST: usize = 3;

/// A point; variables beyond the number in use are 0.
pub(crate) type Vector = [f64; MOST];

/// Rows of a matrix; those beyond the number of variables in use are 0.
pub(crate) type Matrix = [Vector; MOST];

/// A function's value and gradient.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Value {
    pub(crate) value: f64,
    pub(crate) gradient: Vector,
}

impl Value {
    fn is_finite(&self) -> bool {
        self.value.is_finite() && self.gradient.iter().all(|component| component.is_finite())
    }
}

/// The lowest point that was found.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Minimum {
    pub(crate) point: Vector,
    pub(crate) value: f64,
}

/// The longest step, in units in which the variables are of the order of 1.
const LONGEST_STEP: f64 = 2.0;
const MOST_STEPS: usize = 200;

/// The minimum that descent from `start` over the first `free` variables reaches; `None` if the function is not defined at
/// `start`, or the descent does not end.
///
/// `function` returns `None` outside its domain. `precision` is the distance of the value from the minimum that is
/// accepted.
pub(crate) fn minimise(
    free: usize,
    start: Vector,
    precision: f64,
    function: impl FnMut(&Vector) -> Option<Value>,
) -> Option<Minimum> {
    minimise_from(free, start, None, precision, function)
}

/// The same, if the second derivatives are nearly known: `inverse` is the inverse of their matrix.
pub(crate) fn minimise_from(
    free: usize,
    start: Vector,
    inverse: Option<Matrix>,
    precision: f64,
    mut function: impl FnMut(&Vector) -> Option<Value>,
) -> Option<Minimum> {
    let mut point = start;
    let mut here = function(&point).filter(Value::is_finite)?;
    let mut is_fresh = inverse.is_none();
    let mut inverse = inverse.unwrap_or_else(|| scaled_identity(free, &here.gradient));
    let mut was_close = false;
    for _ in 0..MOST_STEPS {
        let mut direction = product(free, &inverse, &here.gradient).map(|component| -component);
        let mut slope = dot(&direction, &here.gradient);
        if slope >= 0.0 {
            inverse = scaled_identity(free, &here.gradient);
            direction = product(free, &inverse, &here.gradient).map(|component| -component);
            slope = dot(&direction, &here.gradient);
            is_fresh = true;
        }
        // Half the slope is the decrease that a quadratic function would still have. The approximated curvature may be wrong, so
        // this must be so twice.
        let is_close = !is_fresh && -0.5 * slope < precision;
        if is_close && was_close || slope == 0.0 {
            return Some(Minimum { point, value: here.value });
        }
        was_close = is_close;
        let length = dot(&direction, &direction).sqrt();
        let mut share = (LONGEST_STEP / length).min(1.0);
        let next = loop {
            let next = add(&point, share, &direction);
            match function(&next) {
                Some(there) if there.is_finite() && there.value <= here.value + 1e-4 * share * slope => {
                    break Some((next, there));
                }
                _ if share * length < 1e-12 => break None,
                _ => share *= 0.4,
            }
        };
        let Some((next, there)) = next else {
            // Rounding hides the rest of the descent, or the approximated curvature is wrong.
            if is_fresh || -0.5 * slope < 1e-6 {
                return (-0.5 * slope < 1e-6).then_some(Minimum { point, value: here.value });
            }
            inverse = scaled_identity(free, &here.gradient);
            is_fresh = true;
            continue;
        };
        let step = add(&next, -1.0, &point);
        let change = add(&there.gradient, -1.0, &here.gradient);
        update(free, &mut inverse, &step, &change, is_fresh);
        is_fresh = false;
        (point, here) = (next, there);
    }
    None
}

/// A first guess of the inverse of the second derivatives: a step of a tenth along the gradient.
fn scaled_identity(free: usize, gradient: &Vector) -> Matrix {
    let length = dot(gradient, gradient).sqrt();
    let diagonal = if length > 0.0 { 0.1 / length } else { 1.0 };
    let mut matrix = Matrix::default();
    for (i, row) in matrix.iter_mut().enumerate().take(free) {
        row[i] = diagonal;
    }
    matrix
}

/// The BFGS update of the inverse of the second derivatives.
fn update(free: usize, inverse: &mut Matrix, step: &Vector, change: &Vector, is_fresh: bool) {
    let curvature = dot(step, change);
    if curvature <= 1e-300 {
        return;
    }
    if is_fresh {
        // The size of the first guess is arbitrary; the first step measures it.
        let size = curvature / dot(change, change);
        for (i, row) in inverse.iter_mut().enumerate().take(free) {
            row[i] = size;
        }
    }
    let along = product(free, inverse, change);
    let factor = (1.0 + dot(change, &along) / curvature) / curvature;
    for i in 0..free {
        for j in 0..free {
            inverse[i][j] +=
                factor * step[i] * step[j] - (along[i] * step[j] + step[i] * along[j]) / curvature;
        }
    }
}

fn dot(a: &Vector, b: &Vector) -> f64 {
    a.iter().zip(b).map(|(a, b)| a * b).sum()
}

fn add(a: &Vector, factor: f64, b: &Vector) -> Vector {
    std::array::from_fn(|i| a[i] + factor * b[i])
}

fn product(free: usize, matrix: &Matrix, vector: &Vector) -> Vector {
    std::array::from_fn(|i| if i < free { dot(&matrix[i], vector) } else { 0.0 })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rosenbrock(at: &Vector) -> Option<Value> {
        let [x, y, _] = *at;
        Some(Value {
            value: (1.0 - x).powi(2) + 100.0 * (y - x * x).powi(2),
            gradient: [-2.0 * (1.0 - x) - 400.0 * x * (y - x * x), 200.0 * (y - x * x), 0.0],
        })
    }

    #[test]
    fn a_curved_valley_is_followed_to_its_end() {
        let found = minimise(2, [-1.2, 1.0, 0.0], 1e-14, rosenbrock).unwrap();
        assert!((found.point[0] - 1.0).abs() < 1e-6 && (found.point[1] - 1.0).abs() < 1e-6, "{found:?}");
    }

    #[test]
    fn a_boundary_of_the_domain_is_not_crossed() {
        // x − ln x, which is not defined for x ≤ 0, from far away.
        let found = minimise(1, [50.0, 0.0, 0.0], 1e-14, |at| {
            let x = at[0];
            (x > 0.0).then(|| Value { value: x - libm::log(x), gradient: [1.0 - 1.0 / x, 0.0, 0.0] })
        });
        assert!((found.unwrap().point[0] - 1.0).abs() < 1e-6);
    }

    #[test]
    fn a_function_without_a_minimum_is_reported() {
        assert!(
            minimise(1, [0.0; 3], 1e-9, |at| Some(Value { value: -at[0], gradient: [-1.0, 0.0, 0.0] }))
                .is_none()
        );
        assert!(minimise(1, [0.0; 3], 1e-9, |_| None).is_none());
    }
}
