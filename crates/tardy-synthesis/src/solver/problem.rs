//! An instance as the solver sees it, and a plan: a route and an offset for each flow.

use super::grid::{Grid, GridRoute};
use super::route::{self, Route};
use crate::instance::Instance;
use crate::schedule::{Hop, Placement, Schedule};

/// An instance with its routes and its grid.
pub(super) struct Problem<'i> {
    instance: &'i Instance,
    /// The number of flows that do not stand for best effort.
    own: usize,
    /// The place that each flow keeps; `None`: the solver chooses.
    kept: &'i [Option<Placement>],
    pub(super) grid: Grid,
    routes: Vec<Vec<Route>>,
    /// The routes of each flow by which it is not late, in steps, with their index in `routes`.
    usable: Vec<Vec<(usize, GridRoute)>>,
}

/// The place of a flow.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Place {
    /// The index of the route in those that are usable.
    pub(super) route: usize,
    /// In steps.
    pub(super) offset: u32,
}

/// The places of all flows; `None` for those that are left out.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Plan {
    pub(super) places: Vec<Option<Place>>,
}

impl Plan {
    /// The number of flows with a place.
    pub(super) fn placed(&self) -> usize {
        self.places.iter().flatten().count()
    }
}

impl<'i> Problem<'i> {
    /// The problem with one route for each flow. `kept` has a place for each flow that keeps it, and is empty if none does.
    /// Flows from `own` on stand for best effort.
    pub(super) fn of(instance: &'i Instance, own: usize, kept: &'i [Option<Placement>]) -> Self {
        let mut routes: Vec<Vec<Route>> =
            route::shortest(instance).into_iter().map(|route| vec![route]).collect();
        for (flow, placement) in kept.iter().enumerate() {
            let Some(placement) = placement else { continue };
            let links: Vec<usize> = placement.hops.iter().map(|hop| hop.link).collect();
            routes[flow] = vec![Route::over(&links, instance, &instance.flows[flow])];
        }
        Self::over(instance, own, kept, routes)
    }

    fn over(
        instance: &'i Instance,
        own: usize,
        kept: &'i [Option<Placement>],
        routes: Vec<Vec<Route>>,
    ) -> Self {
        let grid = Grid::of(instance, own, &routes, kept);
        let usable = routes.iter().enumerate().map(|(flow, routes)| {
            if let Some(placement) = kept.get(flow).and_then(Option::as_ref) {
                return vec![(0, grid.kept_route(instance, flow, placement))];
            }
            let usable = routes.iter().enumerate();
            usable.filter_map(|(place, route)| Some((place, grid.route(instance, flow, route)?))).collect()
        });
        let usable = usable.collect();
        Self { instance, own, kept, grid, routes, usable }
    }

    /// The same problem with further routes for each flow.
    pub(super) fn with_alternatives(self) -> Self {
        let loads = route::loads(self.instance, self.routes.iter().map(|routes| &routes[0]).enumerate());
        let mut routes = self.routes;
        for (flow, routes) in routes.iter_mut().enumerate() {
            if self.kept.get(flow).is_some_and(Option::is_some) {
                continue;
            }
            let more = route::alternatives(self.instance, &self.instance.flows[flow], &routes[0], &loads);
            routes.extend(more);
        }
        Self::over(self.instance, self.own, self.kept, routes)
    }

    /// Whether a flow keeps its place.
    pub(super) fn is_kept(&self, flow: usize) -> bool {
        self.kept.get(flow).is_some_and(Option::is_some)
    }

    /// The places of the flows that keep theirs.
    pub(super) fn kept_places(&self) -> impl Iterator<Item = (usize, Place)> {
        let kept = self.kept.iter().enumerate().filter(|(_, placement)| placement.is_some());
        kept.map(|(flow, _)| (flow, Place { route: 0, offset: 0 }))
    }

    /// The number of flows.
    pub(super) fn flows(&self) -> usize {
        self.usable.len()
    }

    /// The number of flows that have a route by which they are not late.
    pub(super) fn placeable(&self) -> usize {
        self.usable.iter().filter(|usable| !usable.is_empty()).count()
    }

    /// The usable routes of a flow.
    pub(super) fn routes(&self, flow: usize) -> impl Iterator<Item = &GridRoute> {
        self.usable[flow].iter().map(|(_, route)| route)
    }

    /// A usable route of a flow.
    pub(super) fn route(&self, flow: usize, route: usize) -> &GridRoute {
        &self.usable[flow][route].1
    }

    /// The place of a flow as the start of each of its frames.
    pub(super) fn schedule(&self, plan: &Plan) -> Schedule {
        let placements =
            plan.places.iter().enumerate().map(|(flow, place)| Some(self.placement(flow, (*place)?)));
        Schedule { placements: placements.collect() }
    }

    fn placement(&self, flow: usize, place: Place) -> Placement {
        if let Some(placement) = self.kept.get(flow).and_then(Option::as_ref) {
            return placement.clone();
        }
        let route = &self.routes[flow][self.usable[flow][place.route].0];
        let offset_ns = u64::from(place.offset) * self.grid.step_ns;
        let hops = route.hops.iter().map(|hop| {
            let link = &self.instance.links[hop.link];
            let highest = link.queues - 1;
            let queue =
                self.instance.flows[flow].queue_at.as_ref().map_or(highest, |queues| queues[link.from]);
            Hop { link: hop.link, start_ns: offset_ns + hop.shift_ns, queue }
        });
        Placement { hops: hops.collect() }
    }
}
