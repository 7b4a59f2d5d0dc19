//! An instance of a JSON schema, filled from a digest.

use serde_json::{Map, Value};

/// How deep an instance goes; a schema that refers to itself ends here.
const MAX_DEPTH: usize = 12;

/// Most items that are made to satisfy `minItems`.
const MAX_ITEMS: u64 = 64;

/// An instance of the schema, the same for the same digest.
pub(super) fn instance(schema: &Value, digest: &[u8; 16]) -> Value {
    let mut maker = Maker { root: schema, digest, at: 0 };
    maker.make(schema, 0)
}

struct Maker<'s> {
    root: &'s Value,
    digest: &'s [u8; 16],
    at: usize,
}

impl<'s> Maker<'s> {
    /// The next byte of the digest, around its end.
    fn byte(&mut self) -> u8 {
        let byte = self.digest.get(self.at % 16).copied().unwrap_or_default();
        self.at += 1;
        byte
    }

    fn make(&mut self, schema: &'s Value, depth: usize) -> Value {
        if depth > MAX_DEPTH {
            return Value::Null;
        }
        if let Some(target) = schema["$ref"].as_str().and_then(|path| self.root.pointer(path.strip_prefix('#')?)) {
            return self.make(target, depth + 1);
        }
        if let Some(value) = schema.get("const").or_else(|| schema.get("default")) {
            return value.clone();
        }
        if let Some(choices) = schema["enum"].as_array().filter(|choices| !choices.is_empty()) {
            let pick = usize::from(self.byte()) % choices.len();
            return choices.get(pick).cloned().unwrap_or_default();
        }
        let branch = ["anyOf", "oneOf", "allOf"].iter().find_map(|key| schema[*key].as_array()?.first());
        if let Some(branch) = branch {
            return self.make(branch, depth + 1);
        }
        let kind = match &schema["type"] {
            Value::Array(kinds) => kinds.first().and_then(Value::as_str),
            other => other.as_str(),
        };
        match kind {
            Some("object") => self.object(schema, depth),
            Some("array") => {
                let count = schema["minItems"].as_u64().unwrap_or(1).clamp(1, MAX_ITEMS);
                (0..count).map(|_| self.make(&schema["items"], depth + 1)).collect()
            }
            Some("string") => self.string(schema["format"].as_str()),
            Some("integer") => Value::from(self.number(schema)),
            Some("number") => Value::from(self.number(schema) as f64),
            Some("boolean") => Value::from(self.byte().is_multiple_of(2)),
            Some(_) => Value::Null,
            None if schema.get("properties").is_some() => self.object(schema, depth),
            None => self.string(None),
        }
    }

    fn object(&mut self, schema: &'s Value, depth: usize) -> Value {
        let fields = schema["properties"].as_object().into_iter().flatten();
        Value::Object(fields.map(|(name, field)| (name.clone(), self.make(field, depth + 1))).collect::<Map<_, _>>())
    }

    fn number(&mut self, schema: &Value) -> i64 {
        let least = schema["minimum"].as_f64().unwrap_or(1.0);
        let most = schema["maximum"].as_f64().unwrap_or(least + 9.0).max(least);
        let span = ((most - least) as i64).clamp(0, 255) + 1;
        (least.ceil() as i64).saturating_add(i64::from(self.byte()) % span)
    }

    fn string(&mut self, format: Option<&str>) -> Value {
        Value::from(match format {
            Some("date") => "2026-01-01".to_owned(),
            Some("date-time") => "2026-01-01T00:00:00Z".to_owned(),
            Some("uuid") => "00000000-0000-4000-8000-000000000000".to_owned(),
            Some("email") => "judge@example.com".to_owned(),
            Some("uri") => "https://example.com/".to_owned(),
            _ => self.digest.iter().map(|byte| format!("{byte:02x}")).collect(),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn an_instance_has_the_fields_and_types_of_its_schema() {
        let schema = json!({"type": "object", "$defs": {"label": {"enum": ["a", "b"]}}, "properties": {
            "label": {"$ref": "#/$defs/label"}, "score": {"type": "number", "minimum": 3, "maximum": 4},
            "tags": {"type": "array", "items": {"type": "string"}, "minItems": 2}, "sure": {"type": ["boolean", "null"]},
            "when": {"anyOf": [{"type": "string", "format": "date"}, {"type": "null"}]}}});
        let made = instance(&schema, &[7; 16]);
        assert!(["a", "b"].contains(&made["label"].as_str().unwrap()));
        assert!((3.0..=4.0).contains(&made["score"].as_f64().unwrap()));
        assert_eq!(made["tags"].as_array().unwrap().len(), 2);
        assert!(made["sure"].is_boolean());
        assert_eq!(made["when"], "2026-01-01");
        assert_eq!(instance(&schema, &[7; 16]), made);
    }

    #[test]
    fn a_schema_that_refers_to_itself_ends() {
        let schema = json!({"type": "object", "properties": {"next": {"$ref": "#"}}});
        assert!(instance(&schema, &[1; 16])["next"]["next"].is_object());
        assert!(instance(&json!({"$ref": "#"}), &[1; 16]).is_null());
    }
}
