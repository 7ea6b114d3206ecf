//! A sweep as a Parquet file: a row a point and model, the columns of the CSV with their types.
//!
//! Built with the feature `parquet`. A setting's column is whole numbers, numbers or text, by what all
//! of its values are.

use super::columns::{COLUMNS, Cell, ERROR};
use super::report::{PointReport, SweepReport, plain};
use crate::report::Row;
use crate::value::Value;
use ::parquet::arrow::ArrowWriter;
use arrow_array::{ArrayRef, Float64Array, Int64Array, RecordBatch, StringArray, UInt64Array};
use arrow_schema::{Field, Schema};
use std::sync::Arc;

impl SweepReport {
    /// Renders a Parquet file: a row a point and model, in the order of the grid; columns are the
    /// paths of the settings, then those of [`SweepReport::csv`], and null where there is no figure.
    ///
    /// ```
    /// use gvl_lab::sweep::{Axis, Sweep};
    /// use gvl_lab::{Engine, Experiment, load::closed, model::puma, workload::{io, ms}};
    ///
    /// let experiment = Experiment::new(puma()).workload([io(ms(20))]).load(closed(9).requests(90));
    /// let sweep = Sweep::new(&experiment, [Axis::parse("model.threads=1..3")?])?;
    /// let file = sweep.run(Engine::Sim, &|_| {}).parquet();
    /// assert!(file.starts_with(b"PAR1") && file.ends_with(b"PAR1"));
    /// # Ok::<(), gvl_lab::Error>(())
    /// ```
    pub fn parquet(&self) -> Vec<u8> {
        let lines: Vec<_> = self.lines().collect();
        let mut columns: Vec<(String, ArrayRef)> = Vec::new();
        for (n, path) in self.axes.iter().enumerate() {
            columns.push((path.clone(), settings(n, &lines)));
        }
        for column in COLUMNS {
            let cells = lines.iter().map(|(_, row)| column.of(*row));
            columns.push((column.name.to_owned(), array(cells)));
        }
        let errors: StringArray = lines.iter().map(|(point, row)| point.error_of(*row)).collect();
        columns.push((ERROR.to_owned(), Arc::new(errors)));
        let fields: Vec<_> = columns
            .iter()
            .map(|(name, array)| Field::new(name, array.data_type().clone(), true))
            .collect();
        let schema = Arc::new(Schema::new(fields));
        let arrays = columns.into_iter().map(|(_, array)| array).collect();
        let batch = RecordBatch::try_new(Arc::clone(&schema), arrays);
        let batch = batch.expect("the columns are as long as the lines, and as the schema says");
        let mut writer = ArrowWriter::try_new(Vec::new(), schema, None)
            .expect("plain columns have a place in Parquet");
        writer.write(&batch).expect("memory takes all that is written");
        writer.into_inner().expect("memory takes all that is written")
    }
}

/// The values of one setting.
fn settings(n: usize, lines: &[(&PointReport, Option<&Row>)]) -> ArrayRef {
    let values = || lines.iter().map(|(point, _)| point.setting(n));
    if values().all(|value| matches!(value, Some(Value::Int(_)))) {
        let of = |value: Option<&Value>| match value {
            Some(Value::Int(n)) => Some(*n),
            _ => None,
        };
        return Arc::new(values().map(of).collect::<Int64Array>());
    }
    if values().all(|value| matches!(value, Some(Value::Int(_) | Value::Float(_)))) {
        let of = |value: Option<&Value>| match value {
            Some(Value::Int(n)) => Some(*n as f64),
            Some(Value::Float(x)) => Some(*x),
            _ => None,
        };
        return Arc::new(values().map(of).collect::<Float64Array>());
    }
    Arc::new(values().map(|value| value.map(plain)).collect::<StringArray>())
}

/// The cells of one column, which are all of one kind.
fn array(cells: impl Iterator<Item = Cell>) -> ArrayRef {
    let (mut texts, mut counts, mut figures) = (Vec::new(), Vec::new(), Vec::new());
    for cell in cells {
        match cell {
            Cell::Text(text) => texts.push(text),
            Cell::Count(n) => counts.push(n),
            Cell::Figure(x) => figures.push(x),
        }
    }
    match (texts.is_empty(), counts.is_empty()) {
        (false, _) => Arc::new(StringArray::from(texts)),
        (true, false) => Arc::new(UInt64Array::from(counts)),
        (true, true) => Arc::new(Float64Array::from(figures)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::load::{closed, open};
    use crate::model::puma;
    use crate::sweep::{Axis, Sweep};
    use crate::workload::{io, ms, secs};
    use crate::{Engine, Experiment};
    use ::parquet::arrow::arrow_reader::ParquetRecordBatchReaderBuilder;
    use arrow_array::cast::AsArray;
    use arrow_array::types::{Float64Type, Int64Type, UInt64Type};
    use arrow_schema::DataType;

    fn swept(experiment: &Experiment, axes: &[&str]) -> (SweepReport, RecordBatch) {
        let axes = axes.iter().map(|axis| Axis::parse(axis).unwrap());
        let report = Sweep::new(experiment, axes).unwrap().run(Engine::Sim, &|_| {});
        let file = bytes::Bytes::from(report.parquet());
        let mut reader = ParquetRecordBatchReaderBuilder::try_new(file).unwrap().build().unwrap();
        let batch = reader.next().unwrap().unwrap();
        assert!(reader.next().is_none());
        (report, batch)
    }

    #[test]
    fn what_is_written_reads_back() {
        let experiment = Experiment::new(puma()).workload([io(ms(20))]).repeat(3);
        let experiment = experiment.load(closed(9).requests(90));
        let (report, batch) =
            swept(&experiment, &["model.threads=1..3", "model.version=6.6.1,8.0.2"]);
        assert_eq!(batch.num_rows(), 6);
        let of = |name: &str| batch.column_by_name(name).unwrap();
        let threads = of("model.threads").as_primitive::<Int64Type>().values().to_vec();
        assert_eq!(threads, [1, 1, 2, 2, 3, 3]);
        let versions: Vec<_> = of("model.version").as_string::<i32>().iter().flatten().collect();
        assert_eq!(versions[..2], ["6.6.1", "8.0.2"]);
        for (n, point) in report.points.iter().enumerate() {
            let row = &point.rows[0];
            assert_eq!(of("ok").as_primitive::<UInt64Type>().value(n), row.ok);
            let figure = |name| Some(of(name).as_primitive::<Float64Type>().value(n));
            assert_eq!(figure("throughput_rps"), row.throughput_rps);
            assert_eq!(figure("p99_ms"), row.latency_ms.p99);
            assert_eq!(figure("p99_p95_ms"), row.interval.map(|i| i.p99_ms.p95));
            assert_eq!(of("model").as_string::<i32>().value(n), row.model);
            assert!(of("error").is_null(n) && of("warm_up_ms").is_null(n));
        }
        // The same columns as the CSV.
        let header = report.csv().lines().next().unwrap().to_owned();
        let names: Vec<_> = batch.schema().fields().iter().map(|f| f.name().clone()).collect();
        assert_eq!(header, names.join(","));
    }

    #[test]
    fn a_point_that_failed_has_its_error_and_nulls() {
        let load = open(10.0).duration(secs(3600));
        let experiment = Experiment::new(puma().threads(1)).workload([io(ms(20))]).load(load);
        let (_, batch) = swept(&experiment, &["load.open.rate=40,5000.5"]);
        let of = |name: &str| batch.column_by_name(name).unwrap();
        assert_eq!(*of("load.open.rate").data_type(), DataType::Float64);
        assert!(of("error").is_null(0) && of("throughput_rps").is_null(1));
        assert!(of("error").as_string::<i32>().value(1).starts_with("load.open.rate: 5000.5 is"));
        assert_eq!(of("model").as_string::<i32>().value(1), "");
    }
}
