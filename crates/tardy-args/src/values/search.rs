//! Values of a search for runs.

use tardy_analyse::judgement::Judgement;
use tardy_record::facts::Preemption;

/// The names of preemption models on the command line.
const MODELS: [(&str, Preemption); 5] = [
    ("rt", Preemption::Rt),
    ("full", Preemption::Full),
    ("lazy", Preemption::Lazy),
    ("voluntary", Preemption::Voluntary),
    ("none", Preemption::None),
];

/// A preemption model.
pub fn preemption(name: &str) -> Result<Preemption, String> {
    let found = MODELS.iter().find(|(known, _)| *known == name).map(|(_, model)| *model);
    found.ok_or_else(|| {
        format!("there is no model '{name}'; choose one of {}", MODELS.map(|(name, _)| name).join(", "))
    })
}

/// A verdict.
pub fn judgement(name: &str) -> Result<Judgement, String> {
    let found = Judgement::ALL.into_iter().find(|one| one.name() == name);
    found.ok_or_else(|| {
        format!(
            "there is no verdict '{name}'; choose one of {}",
            Judgement::ALL.map(Judgement::name).join(", ")
        )
    })
}
