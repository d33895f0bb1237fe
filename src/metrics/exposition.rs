//! The text in which metrics stand: each family once, with the values of all databases.

use std::fmt::Result;

use chrono::{DateTime, Utc};
use prometheus_client::encoding::{DescriptorEncoder, EncodeGaugeValue, GaugeValueEncoder};
use prometheus_client::metrics::MetricType;

/// Families of metrics, in the order in which they came first.
#[derive(Debug, Default)]
pub struct Exposition {
    families: Vec<Family>,
    /// The label of all values that follow, if there are several databases.
    pub database: Option<String>,
}

#[derive(Debug)]
struct Family {
    name: String,
    help: String,
    of: MetricType,
    values: Vec<(Labels, MetricValue)>,
}

type Labels = Vec<(&'static str, String)>;

/// The value of a metric: whole numbers stay whole.
#[derive(Clone, Copy, Debug)]
pub enum MetricValue {
    Whole(i64),
    Count(u64),
    Real(f64),
}

impl From<i64> for MetricValue {
    fn from(number: i64) -> MetricValue {
        MetricValue::Whole(number)
    }
}

impl From<u64> for MetricValue {
    fn from(number: u64) -> MetricValue {
        MetricValue::Count(number)
    }
}

impl From<f64> for MetricValue {
    fn from(number: f64) -> MetricValue {
        MetricValue::Real(number)
    }
}

impl EncodeGaugeValue for MetricValue {
    fn encode(&self, encoder: &mut GaugeValueEncoder) -> Result {
        match self {
            MetricValue::Whole(number) => number.encode(encoder),
            MetricValue::Count(number) => number.encode(encoder),
            MetricValue::Real(number) => number.encode(encoder),
        }
    }
}

impl Exposition {
    /// Adds a time, if there is one.
    pub fn time(&mut self, name: &str, help: &str, at: Option<DateTime<Utc>>) {
        self.gauge(name, help, [], at.map(|at| ([], seconds(at))));
    }

    pub fn gauge<'v, const N: usize, V: Into<MetricValue>>(
        &mut self,
        name: &str,
        help: &str,
        labels: [&'static str; N],
        values: impl IntoIterator<Item = ([&'v str; N], V)>,
    ) {
        self.family(MetricType::Gauge, name, help, labels, values);
    }

    pub fn counter<'v, const N: usize, V: Into<MetricValue>>(
        &mut self,
        name: &str,
        help: &str,
        labels: [&'static str; N],
        values: impl IntoIterator<Item = ([&'v str; N], V)>,
    ) {
        self.family(MetricType::Counter, name, help, labels, values);
    }

    fn family<'v, const N: usize, V: Into<MetricValue>>(
        &mut self,
        of: MetricType,
        name: &str,
        help: &str,
        labels: [&'static str; N],
        values: impl IntoIterator<Item = ([&'v str; N], V)>,
    ) {
        let database: Labels = self.database.iter().map(|name| ("database", name.clone())).collect();
        let values = values.into_iter().map(|(these, value)| {
            let labelled = labels.into_iter().zip(these.map(str::to_owned));
            (database.iter().cloned().chain(labelled).collect(), value.into())
        });
        match self.families.iter_mut().find(|family| family.name == name) {
            Some(family) => family.values.extend(values),
            None => {
                let (name, help) = (name.to_owned(), help.to_owned());
                self.families.push(Family { name, help, of, values: values.collect() });
            }
        }
    }

    /// Every value is written as a gauge's, also a counter's: OpenMetrics would leave `_total` out of the name of its
    /// type, and the older format knows a counter only by the name of its values.
    pub fn encode(&self, mut encoder: DescriptorEncoder) -> Result {
        for Family { name, help, of, values } in self.families.iter().filter(|family| !family.values.is_empty()) {
            let mut family = encoder.encode_descriptor(name, help, None, *of)?;
            values.iter().try_for_each(|(labels, value)| match labels.as_slice() {
                [] => family.encode_gauge(value),
                labels => family.encode_family(&labels)?.encode_gauge(value),
            })?;
        }
        Ok(())
    }
}

pub fn seconds(at: DateTime<Utc>) -> f64 {
    at.timestamp_millis() as f64 / 1000.0
}
