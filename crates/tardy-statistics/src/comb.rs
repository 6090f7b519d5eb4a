//! A comb: teeth at equal distances in time, and the events at them.

/// An event is at a tooth if its distance from it is at most this share of the period …
const REACH: f64 = 0.08;
/// … and at most this, in ns, once its phase is known.
const REACH_MAX_NS: f64 = 60_000.0;
/// Of the events within reach, only those within this many times the median distance count, so that events of other
/// sources do not shift the teeth …
const TRIM: f64 = 6.0;
/// … but that distance is at least this share of the reach.
const TRIM_MIN: f64 = 0.125;
/// The number of sectors into which a period is divided to find the phase of most events.
const SECTORS: usize = 64;
/// The number of events that determine the phase: with a drifting period, more events would blur it.
const PHASE_EVENTS: usize = 256;
/// A drift is reported if its estimate differs from 0 by this many standard errors.
const DRIFT_SIGMA: f64 = 5.0;
/// The least number of events for which a curvature is distinguishable from jitter.
const BENT_MIN: usize = 32;
/// The number of events that decide whether a comb is fitted to all events …
const TRIED_EVENTS: usize = 512;
/// … if at least this share of its teeth has an event.
const TRIED_HIT_MIN: f64 = 0.3;
/// Rounds of assigning events to teeth and fitting the teeth to them.
const ROUNDS: usize = 4;
/// Rounds of estimating which events are random and fitting the teeth to the others.
const MIXTURE_ROUNDS: usize = 12;
/// An event is at a tooth of the finished comb if it is within this many standard deviations …
const REACH_SIGMA: f64 = 3.5;
/// … and within this share of the period: beyond it, more than half of random events would be at teeth.
const WIDEST_REACH: f64 = 0.25;

/// Teeth at `origin + period · k + curvature · k²`, in ns.
#[derive(Clone, Debug)]
pub struct Comb {
    origin_ns: f64,
    period_ns: f64,
    curvature_ns: f64,
    curvature_error_ns: f64,
    period_error_ns: f64,
    jitter_ns: f64,
    /// An event is at a tooth if it is within this distance of it, in ns.
    reach_ns: f64,
    /// The number of teeth from the first to the last with an event.
    teeth: u64,
    /// The number of these teeth with an event.
    hit: u64,
    events: usize,
    /// The estimated number of events that are the source's own, without random ones that are at teeth by chance.
    own: f64,
}

impl Comb {
    /// The comb with a period near `period_ns` that has most of `times` at its teeth; `None` if there is none.
    pub fn fit(times: &[u64], period_ns: f64) -> Option<Self> {
        let first = *times.first()? as f64;
        let origin_ns = first + densest_phase(&times[..times.len().min(PHASE_EVENTS)], first, period_ns);
        let start = Self {
            origin_ns,
            period_ns,
            curvature_ns: 0.0,
            curvature_error_ns: f64::INFINITY,
            period_error_ns: f64::INFINITY,
            jitter_ns: 0.0,
            reach_ns: period_ns * REACH,
            teeth: 0,
            hit: 0,
            events: 0,
            own: 0.0,
        };
        // Over the window, the error of a spectral line's frequency adds up to a fraction of a period. The beginning is
        // fitted first, so that the error at the end is within the reach of a tooth. Most candidates have too few hits
        // even there.
        // A sector of a long period is longer than the reach, so the teeth are first found without its maximum.
        let begun = start.fitted(&times[..times.len().min(TRIED_EVENTS)], f64::INFINITY);
        if begun.hit_share() < TRIED_HIT_MIN {
            return None;
        }
        begun.extended(times).sound()
    }

    /// The comb fitted to a stretch that is doubled until it covers all of `times`, with its jitter estimated from
    /// all events.
    pub fn extended(self, times: &[u64]) -> Self {
        self.fitted(times, REACH_MAX_NS).settled(times)
    }

    fn fitted(mut self, times: &[u64], reach_max_ns: f64) -> Self {
        let mut count = times.len().min(BENT_MIN);
        loop {
            for _ in 0..ROUNDS {
                let Some(better) = self.refitted(&times[..count], reach_max_ns) else { return self };
                self = better;
            }
            if count == times.len() {
                return self;
            }
            count = (count * 2).min(times.len());
        }
    }

    /// The comb with `parts` times as many teeth, fitted to all of `times`.
    pub fn divided(&self, parts: u32, times: &[u64]) -> Self {
        let parts = f64::from(parts);
        Self {
            period_ns: self.period_ns / parts,
            curvature_ns: self.curvature_ns / (parts * parts),
            ..self.clone()
        }
        .settled(times)
    }

    /// The comb fitted by expectation maximisation to a mixture: events of the source are normally distributed about
    /// the teeth, all others are anywhere. Leaving out the events beyond a reach instead would make the jitter and the
    /// error of the period too small where the jitter is wide. (Dempster, Laird and Rubin, J. R. Stat. Soc. B 39
    /// (1977) 1.)
    fn settled(mut self, times: &[u64]) -> Self {
        let mut own_share = (self.events as f64 / times.len() as f64).clamp(0.05, 0.95);
        for _ in 0..MIXTURE_ROUNDS {
            let Some((better, share)) = self.weighted(times, own_share) else { return self };
            (self, own_share) = (better, share);
        }
        self
    }

    fn weighted(&self, times: &[u64], own_share: f64) -> Option<(Self, f64)> {
        let jitter_ns = self.jitter_ns.max(1.0);
        let background = (1.0 - own_share) / self.period_ns;
        let height = own_share / (jitter_ns * (2.0 * std::f64::consts::PI).sqrt());
        let (mut points, mut own) = (Vec::with_capacity(times.len()), 0.0);
        for at in times {
            let (tooth, away_ns) = self.nearest(*at as f64);
            let density = height * libm::exp(-0.5 * (away_ns / jitter_ns).powi(2));
            let weight = density / (density + background);
            own += weight;
            points.push(Point { x: tooth, y: *at as f64 - self.origin_ns, weight });
        }
        let likely: Vec<f64> =
            points.iter().filter(|point| point.weight >= 0.5).map(|point| point.x).collect();
        if likely.len() < 4 {
            return None;
        }
        let line = fit(&points, likely.len() >= BENT_MIN)?;
        let widest_ns = self.period_ns * WIDEST_REACH;
        let narrowest_ns = TRIM_MIN * (self.period_ns * REACH).min(REACH_MAX_NS);
        let reach_ns = (REACH_SIGMA * line.deviation).clamp(narrowest_ns.min(widest_ns), widest_ns);
        let comb = self.along(&line, &likely, reach_ns, own);
        Some((comb, (own / times.len() as f64).clamp(0.01, 0.999)))
    }

    fn sound(self) -> Option<Self> {
        (self.events >= 3 && self.teeth >= 3).then_some(self)
    }

    /// Whether an event at `at_ns` is at a tooth.
    pub fn takes(&self, at_ns: u64) -> bool {
        let (_, away_ns) = self.nearest(at_ns as f64);
        away_ns.abs() <= self.reach_ns
    }

    /// The distance of two teeth, in ns.
    pub fn period_ns(&self) -> f64 {
        self.period_ns
    }

    /// One standard error of the period, in ns.
    pub fn period_error_ns(&self) -> f64 {
        self.period_error_ns
    }

    /// The standard deviation of the events about their teeth, in ns.
    pub fn jitter_ns(&self) -> f64 {
        self.jitter_ns
    }

    /// The number of teeth without an event of the source, to the nearest whole number.
    pub fn missing(&self) -> u64 {
        self.teeth.saturating_sub(self.own.round() as u64)
    }

    /// The share of teeth that have an event.
    pub fn hit_share(&self) -> f64 {
        if self.teeth == 0 { 0.0 } else { self.hit as f64 / self.teeth as f64 }
    }

    /// Whether an event at `at_ns` is as near to a tooth as most of the source's events.
    pub fn takes_closely(&self, at_ns: u64) -> bool {
        let (_, away_ns) = self.nearest(at_ns as f64);
        away_ns.abs() <= self.close_ns()
    }

    /// The share of random events that would be as near by chance.
    pub fn covered_closely(&self) -> f64 {
        2.0 * self.close_ns() / self.period_ns
    }

    /// Two standard deviations, within which 95 % of the source's events are: of the reaches that could be tested
    /// against chance, wider ones include more random events and hardly more of the source's.
    fn close_ns(&self) -> f64 {
        (2.0 * self.jitter_ns).max(self.reach_ns / 2.0)
    }

    /// The quality of a comb: high if many events are at teeth and few teeth are empty.
    pub fn merit(&self) -> f64 {
        self.events as f64 * self.hit_share()
    }

    /// The drift of the period in parts per million per second; `None` if it does not exceed chance.
    pub fn drift_ppm_per_s(&self) -> Option<f64> {
        // The k-th distance is period + curvature · (2k + 1); there are 1e9 / period of them per second.
        let exceeds_chance = self.curvature_ns.abs() > DRIFT_SIGMA * self.curvature_error_ns;
        exceeds_chance.then(|| 2.0 * self.curvature_ns / self.period_ns * 1e6 * (1e9 / self.period_ns))
    }

    /// The index of the tooth nearest to a time, and the time since that tooth in ns.
    fn nearest(&self, at_ns: f64) -> (f64, f64) {
        let since = at_ns - self.origin_ns;
        let straight = since / self.period_ns;
        // One Newton step for the curvature, which is tiny compared with the period.
        let bent = straight - self.curvature_ns * straight * straight / self.period_ns;
        let tooth = bent.round();
        (tooth, since - self.period_ns * tooth - self.curvature_ns * tooth * tooth)
    }

    /// The comb refitted to those of `times` that are at its teeth; `None` if there are too few.
    fn refitted(&self, times: &[u64], reach_max_ns: f64) -> Option<Self> {
        let full_ns = (self.period_ns * REACH).min(reach_max_ns);
        let near = times.iter().map(|at| (*at as f64, self.nearest(*at as f64)));
        let near: Vec<(f64, (f64, f64))> = near.filter(|(_, (_, away))| away.abs() <= full_ns).collect();
        let mut away: Vec<f64> = near.iter().map(|(_, (_, away))| away.abs()).collect();
        away.sort_by(f64::total_cmp);
        let reach_ns = (TRIM * away.get(away.len() / 2)?).clamp(TRIM_MIN * full_ns, full_ns);
        let points = near.iter().filter(|(_, (_, away))| away.abs() <= reach_ns);
        let points: Vec<Point> =
            points.map(|(at, (tooth, _))| Point { x: *tooth, y: at - self.origin_ns, weight: 1.0 }).collect();
        if points.len() < 4 {
            return None;
        }
        let line = fit(&points, points.len() >= BENT_MIN)?;
        let at: Vec<f64> = points.iter().map(|point| point.x).collect();
        Some(self.along(&line, &at, reach_ns, at.len() as f64))
    }

    /// The comb along a line that was fitted in its coordinates, whose events are at the teeth `at`, in ascending order.
    fn along(&self, line: &Line, at: &[f64], reach_ns: f64, own: f64) -> Self {
        let mut hit: Vec<i64> = at.iter().map(|tooth| *tooth as i64).collect();
        hit.dedup();
        Self {
            origin_ns: self.origin_ns + line.offset,
            period_ns: line.slope,
            curvature_ns: line.curvature,
            curvature_error_ns: line.curvature_error,
            period_error_ns: line.slope_error,
            jitter_ns: line.deviation,
            reach_ns,
            teeth: teeth(&hit),
            hit: hit.len() as u64,
            events: at.len(),
            own,
        }
    }
}

/// The number of teeth from the first to the last of `hit`, which is in ascending order and not empty.
fn teeth(hit: &[i64]) -> u64 {
    (hit[hit.len() - 1].saturating_sub(hit[0]).saturating_add(1)).max(1) as u64
}

/// The phase, in ns, around which most of `times` are, modulo `period_ns`.
fn densest_phase(times: &[u64], first: f64, period_ns: f64) -> f64 {
    let mut sectors = [0u32; SECTORS];
    for at in times {
        let turn = ((*at as f64 - first) / period_ns).rem_euclid(1.0);
        sectors[((turn * SECTORS as f64) as usize).min(SECTORS - 1)] += 1;
    }
    let around = |sector: usize| {
        [SECTORS - 1, 0, 1].iter().map(|step| sectors[(sector + step) % SECTORS]).sum::<u32>()
    };
    let densest = (0..SECTORS).max_by_key(|sector| (around(*sector), SECTORS - sector)).unwrap_or(0);
    (densest as f64 + 0.5) / SECTORS as f64 * period_ns
}

/// A straight line or a parabola through points.
struct Line {
    offset: f64,
    slope: f64,
    slope_error: f64,
    curvature: f64,
    curvature_error: f64,
    deviation: f64,
}

struct Point {
    x: f64,
    y: f64,
    weight: f64,
}

/// A weighted least-squares fit, in coordinates around the mean for precision.
fn fit(points: &[Point], bent: bool) -> Option<Line> {
    let n = points.iter().map(|point| point.weight).sum::<f64>();
    let middle = points.iter().map(|point| point.weight * point.x).sum::<f64>() / n;
    let mean = points.iter().map(|point| point.weight * point.y).sum::<f64>() / n;
    let sum = |of: &dyn Fn(f64, f64) -> f64| {
        points.iter().map(|point| point.weight * of(point.x - middle, point.y - mean)).sum::<f64>()
    };
    let (xx, xy) = (sum(&|x, _| x * x), sum(&|x, y| x * y));
    if xx <= 0.0 {
        return None;
    }
    let straight = xy / xx;
    // The part of x² that is orthogonal to a constant and to x.
    let (xxx, square_mean) = (sum(&|x, _| x * x * x), xx / n);
    let rest = |x: f64| x * x - square_mean - xxx / xx * x;
    let rest_squares = sum(&|x, _| rest(x) * rest(x));
    let curvature = if bent && rest_squares > 0.0 {
        sum(&|x, y| rest(x) * (y - straight * x)) / rest_squares
    } else {
        0.0
    };
    let residual_squares = sum(&|x, y| (y - straight * x - curvature * rest(x)).powi(2));
    let freedom = (n - if bent { 3.0 } else { 2.0 }).max(1.0);
    let deviation = (residual_squares / freedom).sqrt();
    let curvature_error =
        if bent && rest_squares > 0.0 { deviation / rest_squares.sqrt() } else { f64::INFINITY };
    // A curvature that does not exceed chance would only distort the period.
    let curvature = if curvature.abs() > DRIFT_SIGMA * curvature_error { curvature } else { 0.0 };
    // Converted from the mean back to the first tooth.
    let slope_at_middle = straight - curvature * xxx / xx;
    let slope = slope_at_middle - 2.0 * curvature * middle;
    let offset = mean - slope_at_middle * middle + curvature * (middle * middle - square_mean);
    Some(Line { offset, slope, slope_error: deviation / xx.sqrt(), curvature, curvature_error, deviation })
}
