CREATE TABLE IF NOT EXISTS schema_migrations_local ON CLUSTER attribution
(
    `version` UInt32,
    `name` String,
    `applied_at` DateTime64(3, 'UTC') DEFAULT now64(3)
)
ENGINE = ReplicatedMergeTree('/clickhouse/tables/{shard}/{database}/schema_migrations', '{replica}')
ORDER BY version;

CREATE TABLE IF NOT EXISTS schema_migrations ON CLUSTER attribution AS schema_migrations_local
ENGINE = Distributed(attribution, currentDatabase(), schema_migrations_local, 0);

CREATE TABLE IF NOT EXISTS attributions_local ON CLUSTER attribution
(
    `tenant_id` LowCardinality(String),
    `id` FixedString(16),
    `event_id` UUID,
    `event_time` DateTime64(3, 'UTC'),
    `valid_from` DateTime64(3, 'UTC'),
    `provider` LowCardinality(String),
    `requested_model` LowCardinality(String),
    `served_model` LowCardinality(String),
    `service` LowCardinality(String),
    `owner` LowCardinality(String),
    `cost_usd` Decimal(38, 18),
    `energy_wh` Decimal(38, 18),
    `carbon_gco2e` Decimal(38, 18),
    `pathway_category` LowCardinality(String),
    `output_state` LowCardinality(String),
    `stage_origin` LowCardinality(String),
    `confidence` Decimal(5, 4),
    `attribution_confidence` Decimal(5, 4),
    `confidence_band` LowCardinality(String),
    `evidence_basis` LowCardinality(String),
    `model_version` LowCardinality(String),
    `degradation_state` LowCardinality(String),
    `freshness` LowCardinality(String),
    `export_eligibility` LowCardinality(String),
    `contested` LowCardinality(String),
    `cost_basis` LowCardinality(String),
    `cost_bound` LowCardinality(String),
    `usage_basis` LowCardinality(String),
    `outcome` LowCardinality(String),
    `energy_basis` LowCardinality(String),
    `carbon_basis` LowCardinality(String),
    `evidence` LowCardinality(String),
    `cost_details` LowCardinality(String),
    `footprint_details` LowCardinality(String),
    `inference` String,
    `input_tokens` Nullable(UInt64),
    `output_tokens` Nullable(UInt64),
    `cached_input_tokens` Nullable(UInt64),
    `cached_audio_input_tokens` Nullable(UInt64),
    `cached_image_input_tokens` Nullable(UInt64),
    `cache_write_tokens` Nullable(UInt64),
    `cache_write_ttl_seconds` Nullable(UInt64),
    `cache_write_5m_tokens` Nullable(UInt64),
    `cache_write_1h_tokens` Nullable(UInt64),
    `reasoning_tokens` Nullable(UInt64),
    `audio_input_tokens` Nullable(UInt64),
    `audio_output_tokens` Nullable(UInt64),
    `image_input_tokens` Nullable(UInt64),
    `image_output_tokens` Nullable(UInt64),
    `web_search_calls` Nullable(UInt64),
    `file_search_calls` Nullable(UInt64),
    `code_execution_calls` Nullable(UInt64),
    `billed_units` Map(LowCardinality(String), String),
    `alternative_input_tokens` Nullable(UInt64),
    `alternative_output_tokens` Nullable(UInt64),
    `latency_ms` Nullable(UInt64),
    `estimated_cost_usd` Nullable(Decimal(38, 18)),
    `service_tier` LowCardinality(String),
    `speed` LowCardinality(String),
    `served_from_cache` Bool,
    `region` LowCardinality(String),
    `ingestion_layer` LowCardinality(String),
    `principal` LowCardinality(String),
    `sent_by_gateway` Bool,
    `identity_hash` FixedString(16),
    `intake` LowCardinality(String),
    `trace_id` String,
    `span_id` String,
    `parent_span_id` String,
    `instrumentation` LowCardinality(String),
    `response_id` String,
    `request_id` String,
    `operation_id` String,
    `attempt` Nullable(UInt64),
    `assumptions` LowCardinality(String),
    `seen_by` String,
    `tags` Map(LowCardinality(String), String),
    `dimensions` Array(LowCardinality(String)),
    `k8s_namespace` LowCardinality(String),
    `k8s_workload` LowCardinality(String),
    `workload_identity` LowCardinality(String),
    `received_at` DateTime64(3, 'UTC'),
    `source_log` UInt32,
    `source_partition` UInt16,
    `source_sequence` UInt64,
    `source_index` UInt32,
    `report_flags` UInt16 MATERIALIZED toUInt16((((((((((((((cost_basis = 'unpriced') * 1) + ((energy_basis = 'unknown') * 2)) + ((carbon_basis = 'unknown') * 4)) + ((confidence_band = 'chargeback_ready') * 8)) + ((confidence_band = 'provisional') * 16)) + ((output_state = 'unresolved') * 32)) + ((owner = 'unassigned') * 64)) + ((export_eligibility = 'below_floor') * 128)) + ((export_eligibility = 'advisory') * 256)) + ((export_eligibility = 'implausible_cost') * 512)) + ((export_eligibility = 'ambiguous_usage') * 1024)) + ((cost_bound = 'upper') * 2048)) + ((energy_basis = 'class_estimate') * 4096)),
    `shown_labels` LowCardinality(String) MATERIALIZED concat('[', '"', toString(pathway_category), '"', ',', '"', toString(output_state), '"', ',', '"', toString(stage_origin), '"', ',', '"', toString(confidence_band), '"', ',', '"', toString(evidence_basis), '"', ',', '"', toString(degradation_state), '"', ',', '"', toString(freshness), '"', ',', '"', toString(export_eligibility), '"', ',', '"', toString(contested), '"', ',', '"', toString(cost_basis), '"', ',', '"', toString(cost_bound), '"', ',', '"', toString(usage_basis), '"', ',', '"', toString(outcome), '"', ',', '"', toString(energy_basis), '"', ',', '"', toString(carbon_basis), '"', ']'),
    `shown_fields` String MATERIALIZED concat('[', '"', toString(toUnixTimestamp64Milli(event_time)), '"', ',', '"', toString(toUnixTimestamp64Milli(valid_from)), '"', ',', toJSONString(toString(provider)), ',', toJSONString(toString(requested_model)), ',', toJSONString(toString(served_model)), ',', toJSONString(toString(service)), ',', toJSONString(toString(owner)), ',', '"', toString(cost_usd), '"', ',', '"', toString(energy_wh), '"', ',', '"', toString(carbon_gco2e), '"', ',', '"', toString(confidence), '"', ',', toJSONString(toString(model_version)), ',', ifNull(concat('"', toString(input_tokens), '"'), 'null'), ',', ifNull(concat('"', toString(output_tokens), '"'), 'null'), ',', toJSONString(toString(trace_id)), ',', toJSONString(CAST(dimensions, 'Array(String)')), ']') CODEC(ZSTD(1)),
    `explained_fields` String MATERIALIZED concat('[', '"', toString(attribution_confidence), '"', ',', ifNull(concat('"', toString(cached_input_tokens), '"'), 'null'), ',', ifNull(concat('"', toString(cached_audio_input_tokens), '"'), 'null'), ',', ifNull(concat('"', toString(cached_image_input_tokens), '"'), 'null'), ',', ifNull(concat('"', toString(cache_write_tokens), '"'), 'null'), ',', ifNull(concat('"', toString(cache_write_ttl_seconds), '"'), 'null'), ',', ifNull(concat('"', toString(cache_write_5m_tokens), '"'), 'null'), ',', ifNull(concat('"', toString(cache_write_1h_tokens), '"'), 'null'), ',', ifNull(concat('"', toString(reasoning_tokens), '"'), 'null'), ',', ifNull(concat('"', toString(audio_input_tokens), '"'), 'null'), ',', ifNull(concat('"', toString(audio_output_tokens), '"'), 'null'), ',', ifNull(concat('"', toString(image_input_tokens), '"'), 'null'), ',', ifNull(concat('"', toString(image_output_tokens), '"'), 'null'), ',', ifNull(concat('"', toString(web_search_calls), '"'), 'null'), ',', ifNull(concat('"', toString(file_search_calls), '"'), 'null'), ',', ifNull(concat('"', toString(code_execution_calls), '"'), 'null'), ',', toJSONString(CAST(billed_units, 'Map(String, String)')), ',', ifNull(concat('"', toString(alternative_input_tokens), '"'), 'null'), ',', ifNull(concat('"', toString(alternative_output_tokens), '"'), 'null'), ',', ifNull(concat('"', toString(latency_ms), '"'), 'null'), ',', ifNull(concat('"', toString(estimated_cost_usd), '"'), 'null'), ',', toJSONString(toString(service_tier)), ',', toJSONString(toString(speed)), ',', toString(served_from_cache), ',', toJSONString(toString(region)), ',', toJSONString(toString(ingestion_layer)), ',', toJSONString(toString(principal)), ',', toJSONString(toString(intake)), ',', toJSONString(toString(span_id)), ',', toJSONString(toString(instrumentation)), ',', toJSONString(toString(response_id)), ',', toJSONString(toString(request_id)), ',', toJSONString(toString(operation_id)), ',', ifNull(concat('"', toString(attempt), '"'), 'null'), ',', toJSONString(toString(assumptions)), ',', toJSONString(toString(seen_by)), ',', toJSONString(CAST(tags, 'Map(String, String)')), ']') CODEC(ZSTD(1)),
    INDEX id_filter id TYPE bloom_filter(0.01) GRANULARITY 1,
    INDEX trace_id_bloom_filter trace_id TYPE bloom_filter(0.01) GRANULARITY 1,
    INDEX id_minmax id TYPE minmax GRANULARITY 1,
    INDEX valid_from_minmax valid_from TYPE minmax GRANULARITY 1,
    INDEX cost_usd_minmax cost_usd TYPE minmax GRANULARITY 1,
    INDEX energy_wh_minmax energy_wh TYPE minmax GRANULARITY 1,
    INDEX carbon_gco2e_minmax carbon_gco2e TYPE minmax GRANULARITY 1,
    INDEX confidence_minmax confidence TYPE minmax GRANULARITY 1,
    INDEX served_model_bloom_filter served_model TYPE bloom_filter(0.01) GRANULARITY 1,
    INDEX service_bloom_filter service TYPE bloom_filter(0.01) GRANULARITY 1,
    INDEX owner_bloom_filter owner TYPE bloom_filter(0.01) GRANULARITY 1,
    INDEX provider_bloom_filter provider TYPE bloom_filter(0.01) GRANULARITY 1,
    INDEX pathway_category_bloom_filter pathway_category TYPE bloom_filter(0.01) GRANULARITY 1,
    INDEX output_state_bloom_filter output_state TYPE bloom_filter(0.01) GRANULARITY 1,
    INDEX stage_origin_bloom_filter stage_origin TYPE bloom_filter(0.01) GRANULARITY 1,
    INDEX confidence_band_bloom_filter confidence_band TYPE bloom_filter(0.01) GRANULARITY 1,
    INDEX evidence_basis_bloom_filter evidence_basis TYPE bloom_filter(0.01) GRANULARITY 1,
    INDEX degradation_state_bloom_filter degradation_state TYPE bloom_filter(0.01) GRANULARITY 1,
    INDEX export_eligibility_bloom_filter export_eligibility TYPE bloom_filter(0.01) GRANULARITY 1,
    INDEX dimensions_bloom_filter dimensions TYPE bloom_filter(0.01) GRANULARITY 1,
    INDEX usage_basis_bloom_filter usage_basis TYPE bloom_filter(0.01) GRANULARITY 1,
    INDEX outcome_bloom_filter outcome TYPE bloom_filter(0.01) GRANULARITY 1
)
ENGINE = ReplicatedMergeTree('/clickhouse/tables/{shard}/{database}/attributions', '{replica}')
PARTITION BY toYYYYMM(valid_from)
ORDER BY (tenant_id, event_time, id)
SETTINGS replicated_deduplication_window = 10000, replicated_deduplication_window_seconds = 604800, index_granularity = 2048, auto_statistics_types = '', packed_skip_index_max_bytes = 1048576, min_compress_block_size = 8192, max_compress_block_size = 65536, min_age_to_force_merge_seconds = 86400;

CREATE TABLE IF NOT EXISTS attributions ON CLUSTER attribution AS attributions_local
ENGINE = Distributed(attribution, currentDatabase(), attributions_local, cityHash64(tenant_id));

CREATE TABLE IF NOT EXISTS attributions_by_materialized_at_local ON CLUSTER attribution
(
    `tenant_id` LowCardinality(String),
    `id` FixedString(16),
    `event_time` DateTime64(3, 'UTC') CODEC(ZSTD(1)),
    `valid_from` DateTime64(3, 'UTC') CODEC(ZSTD(1)),
    `provider` LowCardinality(String),
    `requested_model` LowCardinality(String),
    `served_model` LowCardinality(String),
    `service` LowCardinality(String),
    `owner` LowCardinality(String),
    `cost_usd` Decimal(38, 18) CODEC(ZSTD(1)),
    `energy_wh` Decimal(38, 18) CODEC(ZSTD(1)),
    `carbon_gco2e` Decimal(38, 18) CODEC(ZSTD(1)),
    `pathway_category` LowCardinality(String),
    `output_state` LowCardinality(String),
    `stage_origin` LowCardinality(String),
    `confidence` Decimal(5, 4),
    `confidence_band` LowCardinality(String),
    `evidence_basis` LowCardinality(String),
    `model_version` LowCardinality(String),
    `degradation_state` LowCardinality(String),
    `freshness` LowCardinality(String),
    `export_eligibility` LowCardinality(String),
    `contested` LowCardinality(String),
    `cost_basis` LowCardinality(String),
    `cost_bound` LowCardinality(String),
    `usage_basis` LowCardinality(String),
    `outcome` LowCardinality(String),
    `energy_basis` LowCardinality(String),
    `carbon_basis` LowCardinality(String),
    `input_tokens` Nullable(UInt64) CODEC(ZSTD(1)),
    `output_tokens` Nullable(UInt64) CODEC(ZSTD(1)),
    `ingestion_layer` LowCardinality(String),
    `trace_id` String CODEC(ZSTD(1)),
    `dimensions` Array(LowCardinality(String)),
    `shown_labels` LowCardinality(String) DEFAULT concat('[', '"', toString(pathway_category), '"', ',', '"', toString(output_state), '"', ',', '"', toString(stage_origin), '"', ',', '"', toString(confidence_band), '"', ',', '"', toString(evidence_basis), '"', ',', '"', toString(degradation_state), '"', ',', '"', toString(freshness), '"', ',', '"', toString(export_eligibility), '"', ',', '"', toString(contested), '"', ',', '"', toString(cost_basis), '"', ',', '"', toString(cost_bound), '"', ',', '"', toString(usage_basis), '"', ',', '"', toString(outcome), '"', ',', '"', toString(energy_basis), '"', ',', '"', toString(carbon_basis), '"', ']'),
    INDEX id_minmax id TYPE minmax GRANULARITY 1,
    INDEX event_time_minmax event_time TYPE minmax GRANULARITY 1,
    INDEX cost_usd_minmax cost_usd TYPE minmax GRANULARITY 1,
    INDEX energy_wh_minmax energy_wh TYPE minmax GRANULARITY 1,
    INDEX carbon_gco2e_minmax carbon_gco2e TYPE minmax GRANULARITY 1,
    INDEX confidence_minmax confidence TYPE minmax GRANULARITY 1,
    INDEX served_model_bloom_filter served_model TYPE bloom_filter(0.01) GRANULARITY 1,
    INDEX service_bloom_filter service TYPE bloom_filter(0.01) GRANULARITY 1,
    INDEX owner_bloom_filter owner TYPE bloom_filter(0.01) GRANULARITY 1,
    INDEX provider_bloom_filter provider TYPE bloom_filter(0.01) GRANULARITY 1,
    INDEX pathway_category_bloom_filter pathway_category TYPE bloom_filter(0.01) GRANULARITY 1,
    INDEX output_state_bloom_filter output_state TYPE bloom_filter(0.01) GRANULARITY 1,
    INDEX stage_origin_bloom_filter stage_origin TYPE bloom_filter(0.01) GRANULARITY 1,
    INDEX confidence_band_bloom_filter confidence_band TYPE bloom_filter(0.01) GRANULARITY 1,
    INDEX evidence_basis_bloom_filter evidence_basis TYPE bloom_filter(0.01) GRANULARITY 1,
    INDEX degradation_state_bloom_filter degradation_state TYPE bloom_filter(0.01) GRANULARITY 1,
    INDEX export_eligibility_bloom_filter export_eligibility TYPE bloom_filter(0.01) GRANULARITY 1,
    INDEX dimensions_bloom_filter dimensions TYPE bloom_filter(0.01) GRANULARITY 1,
    INDEX usage_basis_bloom_filter usage_basis TYPE bloom_filter(0.01) GRANULARITY 1,
    INDEX outcome_bloom_filter outcome TYPE bloom_filter(0.01) GRANULARITY 1
)
ENGINE = ReplicatedMergeTree('/clickhouse/tables/{shard}/{database}/attributions_by_materialized_at', '{replica}')
PARTITION BY toYYYYMM(valid_from)
ORDER BY (tenant_id, valid_from, id)
SETTINGS replicated_deduplication_window = 10000, replicated_deduplication_window_seconds = 604800, index_granularity = 2048, auto_statistics_types = '', packed_skip_index_max_bytes = 1048576, min_compress_block_size = 8192, max_compress_block_size = 65536, min_age_to_force_merge_seconds = 86400, min_bytes_for_wide_part = 1073741824;

CREATE TABLE IF NOT EXISTS attributions_by_materialized_at ON CLUSTER attribution AS attributions_by_materialized_at_local
ENGINE = Distributed(attribution, currentDatabase(), attributions_by_materialized_at_local, cityHash64(tenant_id));

CREATE TABLE IF NOT EXISTS attributions_by_cost_usd_local ON CLUSTER attribution
(
    `tenant_id` LowCardinality(String),
    `id` FixedString(16),
    `event_time` DateTime64(3, 'UTC') CODEC(ZSTD(1)),
    `valid_from` DateTime64(3, 'UTC') CODEC(ZSTD(1)),
    `provider` LowCardinality(String),
    `requested_model` LowCardinality(String),
    `served_model` LowCardinality(String),
    `service` LowCardinality(String),
    `owner` LowCardinality(String),
    `cost_usd` Decimal(38, 18) CODEC(ZSTD(1)),
    `energy_wh` Decimal(38, 18) CODEC(ZSTD(1)),
    `carbon_gco2e` Decimal(38, 18) CODEC(ZSTD(1)),
    `pathway_category` LowCardinality(String),
    `output_state` LowCardinality(String),
    `stage_origin` LowCardinality(String),
    `confidence` Decimal(5, 4),
    `confidence_band` LowCardinality(String),
    `evidence_basis` LowCardinality(String),
    `model_version` LowCardinality(String),
    `degradation_state` LowCardinality(String),
    `freshness` LowCardinality(String),
    `export_eligibility` LowCardinality(String),
    `contested` LowCardinality(String),
    `cost_basis` LowCardinality(String),
    `cost_bound` LowCardinality(String),
    `usage_basis` LowCardinality(String),
    `outcome` LowCardinality(String),
    `energy_basis` LowCardinality(String),
    `carbon_basis` LowCardinality(String),
    `input_tokens` Nullable(UInt64) CODEC(ZSTD(1)),
    `output_tokens` Nullable(UInt64) CODEC(ZSTD(1)),
    `ingestion_layer` LowCardinality(String),
    `trace_id` String CODEC(ZSTD(1)),
    `dimensions` Array(LowCardinality(String)),
    `shown_labels` LowCardinality(String) DEFAULT concat('[', '"', toString(pathway_category), '"', ',', '"', toString(output_state), '"', ',', '"', toString(stage_origin), '"', ',', '"', toString(confidence_band), '"', ',', '"', toString(evidence_basis), '"', ',', '"', toString(degradation_state), '"', ',', '"', toString(freshness), '"', ',', '"', toString(export_eligibility), '"', ',', '"', toString(contested), '"', ',', '"', toString(cost_basis), '"', ',', '"', toString(cost_bound), '"', ',', '"', toString(usage_basis), '"', ',', '"', toString(outcome), '"', ',', '"', toString(energy_basis), '"', ',', '"', toString(carbon_basis), '"', ']'),
    INDEX id_minmax id TYPE minmax GRANULARITY 1,
    INDEX event_time_minmax event_time TYPE minmax GRANULARITY 1,
    INDEX valid_from_minmax valid_from TYPE minmax GRANULARITY 1,
    INDEX energy_wh_minmax energy_wh TYPE minmax GRANULARITY 1,
    INDEX carbon_gco2e_minmax carbon_gco2e TYPE minmax GRANULARITY 1,
    INDEX confidence_minmax confidence TYPE minmax GRANULARITY 1,
    INDEX served_model_bloom_filter served_model TYPE bloom_filter(0.01) GRANULARITY 1,
    INDEX service_bloom_filter service TYPE bloom_filter(0.01) GRANULARITY 1,
    INDEX owner_bloom_filter owner TYPE bloom_filter(0.01) GRANULARITY 1,
    INDEX provider_bloom_filter provider TYPE bloom_filter(0.01) GRANULARITY 1,
    INDEX pathway_category_bloom_filter pathway_category TYPE bloom_filter(0.01) GRANULARITY 1,
    INDEX output_state_bloom_filter output_state TYPE bloom_filter(0.01) GRANULARITY 1,
    INDEX stage_origin_bloom_filter stage_origin TYPE bloom_filter(0.01) GRANULARITY 1,
    INDEX confidence_band_bloom_filter confidence_band TYPE bloom_filter(0.01) GRANULARITY 1,
    INDEX evidence_basis_bloom_filter evidence_basis TYPE bloom_filter(0.01) GRANULARITY 1,
    INDEX degradation_state_bloom_filter degradation_state TYPE bloom_filter(0.01) GRANULARITY 1,
    INDEX export_eligibility_bloom_filter export_eligibility TYPE bloom_filter(0.01) GRANULARITY 1,
    INDEX dimensions_bloom_filter dimensions TYPE bloom_filter(0.01) GRANULARITY 1,
    INDEX usage_basis_bloom_filter usage_basis TYPE bloom_filter(0.01) GRANULARITY 1,
    INDEX outcome_bloom_filter outcome TYPE bloom_filter(0.01) GRANULARITY 1
)
ENGINE = ReplicatedMergeTree('/clickhouse/tables/{shard}/{database}/attributions_by_cost_usd', '{replica}')
PARTITION BY toYYYYMM(valid_from)
ORDER BY (tenant_id, cost_usd, id)
SETTINGS replicated_deduplication_window = 10000, replicated_deduplication_window_seconds = 604800, index_granularity = 2048, auto_statistics_types = '', packed_skip_index_max_bytes = 1048576, min_compress_block_size = 8192, max_compress_block_size = 65536, min_age_to_force_merge_seconds = 86400, min_bytes_for_wide_part = 1073741824;

CREATE TABLE IF NOT EXISTS attributions_by_cost_usd ON CLUSTER attribution AS attributions_by_cost_usd_local
ENGINE = Distributed(attribution, currentDatabase(), attributions_by_cost_usd_local, cityHash64(tenant_id));

CREATE TABLE IF NOT EXISTS attributions_by_energy_wh_local ON CLUSTER attribution
(
    `tenant_id` LowCardinality(String),
    `id` FixedString(16),
    `event_time` DateTime64(3, 'UTC') CODEC(ZSTD(1)),
    `valid_from` DateTime64(3, 'UTC') CODEC(ZSTD(1)),
    `provider` LowCardinality(String),
    `requested_model` LowCardinality(String),
    `served_model` LowCardinality(String),
    `service` LowCardinality(String),
    `owner` LowCardinality(String),
    `cost_usd` Decimal(38, 18) CODEC(ZSTD(1)),
    `energy_wh` Decimal(38, 18) CODEC(ZSTD(1)),
    `carbon_gco2e` Decimal(38, 18) CODEC(ZSTD(1)),
    `pathway_category` LowCardinality(String),
    `output_state` LowCardinality(String),
    `stage_origin` LowCardinality(String),
    `confidence` Decimal(5, 4),
    `confidence_band` LowCardinality(String),
    `evidence_basis` LowCardinality(String),
    `model_version` LowCardinality(String),
    `degradation_state` LowCardinality(String),
    `freshness` LowCardinality(String),
    `export_eligibility` LowCardinality(String),
    `contested` LowCardinality(String),
    `cost_basis` LowCardinality(String),
    `cost_bound` LowCardinality(String),
    `usage_basis` LowCardinality(String),
    `outcome` LowCardinality(String),
    `energy_basis` LowCardinality(String),
    `carbon_basis` LowCardinality(String),
    `input_tokens` Nullable(UInt64) CODEC(ZSTD(1)),
    `output_tokens` Nullable(UInt64) CODEC(ZSTD(1)),
    `ingestion_layer` LowCardinality(String),
    `trace_id` String CODEC(ZSTD(1)),
    `dimensions` Array(LowCardinality(String)),
    `shown_labels` LowCardinality(String) DEFAULT concat('[', '"', toString(pathway_category), '"', ',', '"', toString(output_state), '"', ',', '"', toString(stage_origin), '"', ',', '"', toString(confidence_band), '"', ',', '"', toString(evidence_basis), '"', ',', '"', toString(degradation_state), '"', ',', '"', toString(freshness), '"', ',', '"', toString(export_eligibility), '"', ',', '"', toString(contested), '"', ',', '"', toString(cost_basis), '"', ',', '"', toString(cost_bound), '"', ',', '"', toString(usage_basis), '"', ',', '"', toString(outcome), '"', ',', '"', toString(energy_basis), '"', ',', '"', toString(carbon_basis), '"', ']'),
    INDEX id_minmax id TYPE minmax GRANULARITY 1,
    INDEX event_time_minmax event_time TYPE minmax GRANULARITY 1,
    INDEX valid_from_minmax valid_from TYPE minmax GRANULARITY 1,
    INDEX cost_usd_minmax cost_usd TYPE minmax GRANULARITY 1,
    INDEX carbon_gco2e_minmax carbon_gco2e TYPE minmax GRANULARITY 1,
    INDEX confidence_minmax confidence TYPE minmax GRANULARITY 1,
    INDEX served_model_bloom_filter served_model TYPE bloom_filter(0.01) GRANULARITY 1,
    INDEX service_bloom_filter service TYPE bloom_filter(0.01) GRANULARITY 1,
    INDEX owner_bloom_filter owner TYPE bloom_filter(0.01) GRANULARITY 1,
    INDEX provider_bloom_filter provider TYPE bloom_filter(0.01) GRANULARITY 1,
    INDEX pathway_category_bloom_filter pathway_category TYPE bloom_filter(0.01) GRANULARITY 1,
    INDEX output_state_bloom_filter output_state TYPE bloom_filter(0.01) GRANULARITY 1,
    INDEX stage_origin_bloom_filter stage_origin TYPE bloom_filter(0.01) GRANULARITY 1,
    INDEX confidence_band_bloom_filter confidence_band TYPE bloom_filter(0.01) GRANULARITY 1,
    INDEX evidence_basis_bloom_filter evidence_basis TYPE bloom_filter(0.01) GRANULARITY 1,
    INDEX degradation_state_bloom_filter degradation_state TYPE bloom_filter(0.01) GRANULARITY 1,
    INDEX export_eligibility_bloom_filter export_eligibility TYPE bloom_filter(0.01) GRANULARITY 1,
    INDEX dimensions_bloom_filter dimensions TYPE bloom_filter(0.01) GRANULARITY 1,
    INDEX usage_basis_bloom_filter usage_basis TYPE bloom_filter(0.01) GRANULARITY 1,
    INDEX outcome_bloom_filter outcome TYPE bloom_filter(0.01) GRANULARITY 1
)
ENGINE = ReplicatedMergeTree('/clickhouse/tables/{shard}/{database}/attributions_by_energy_wh', '{replica}')
PARTITION BY toYYYYMM(valid_from)
ORDER BY (tenant_id, energy_wh, id)
SETTINGS replicated_deduplication_window = 10000, replicated_deduplication_window_seconds = 604800, index_granularity = 2048, auto_statistics_types = '', packed_skip_index_max_bytes = 1048576, min_compress_block_size = 8192, max_compress_block_size = 65536, min_age_to_force_merge_seconds = 86400, min_bytes_for_wide_part = 1073741824;

CREATE TABLE IF NOT EXISTS attributions_by_energy_wh ON CLUSTER attribution AS attributions_by_energy_wh_local
ENGINE = Distributed(attribution, currentDatabase(), attributions_by_energy_wh_local, cityHash64(tenant_id));

CREATE TABLE IF NOT EXISTS attributions_by_carbon_gco2e_local ON CLUSTER attribution
(
    `tenant_id` LowCardinality(String),
    `id` FixedString(16),
    `event_time` DateTime64(3, 'UTC') CODEC(ZSTD(1)),
    `valid_from` DateTime64(3, 'UTC') CODEC(ZSTD(1)),
    `provider` LowCardinality(String),
    `requested_model` LowCardinality(String),
    `served_model` LowCardinality(String),
    `service` LowCardinality(String),
    `owner` LowCardinality(String),
    `cost_usd` Decimal(38, 18) CODEC(ZSTD(1)),
    `energy_wh` Decimal(38, 18) CODEC(ZSTD(1)),
    `carbon_gco2e` Decimal(38, 18) CODEC(ZSTD(1)),
    `pathway_category` LowCardinality(String),
    `output_state` LowCardinality(String),
    `stage_origin` LowCardinality(String),
    `confidence` Decimal(5, 4),
    `confidence_band` LowCardinality(String),
    `evidence_basis` LowCardinality(String),
    `model_version` LowCardinality(String),
    `degradation_state` LowCardinality(String),
    `freshness` LowCardinality(String),
    `export_eligibility` LowCardinality(String),
    `contested` LowCardinality(String),
    `cost_basis` LowCardinality(String),
    `cost_bound` LowCardinality(String),
    `usage_basis` LowCardinality(String),
    `outcome` LowCardinality(String),
    `energy_basis` LowCardinality(String),
    `carbon_basis` LowCardinality(String),
    `input_tokens` Nullable(UInt64) CODEC(ZSTD(1)),
    `output_tokens` Nullable(UInt64) CODEC(ZSTD(1)),
    `ingestion_layer` LowCardinality(String),
    `trace_id` String CODEC(ZSTD(1)),
    `dimensions` Array(LowCardinality(String)),
    `shown_labels` LowCardinality(String) DEFAULT concat('[', '"', toString(pathway_category), '"', ',', '"', toString(output_state), '"', ',', '"', toString(stage_origin), '"', ',', '"', toString(confidence_band), '"', ',', '"', toString(evidence_basis), '"', ',', '"', toString(degradation_state), '"', ',', '"', toString(freshness), '"', ',', '"', toString(export_eligibility), '"', ',', '"', toString(contested), '"', ',', '"', toString(cost_basis), '"', ',', '"', toString(cost_bound), '"', ',', '"', toString(usage_basis), '"', ',', '"', toString(outcome), '"', ',', '"', toString(energy_basis), '"', ',', '"', toString(carbon_basis), '"', ']'),
    INDEX id_minmax id TYPE minmax GRANULARITY 1,
    INDEX event_time_minmax event_time TYPE minmax GRANULARITY 1,
    INDEX valid_from_minmax valid_from TYPE minmax GRANULARITY 1,
    INDEX cost_usd_minmax cost_usd TYPE minmax GRANULARITY 1,
    INDEX energy_wh_minmax energy_wh TYPE minmax GRANULARITY 1,
    INDEX confidence_minmax confidence TYPE minmax GRANULARITY 1,
    INDEX served_model_bloom_filter served_model TYPE bloom_filter(0.01) GRANULARITY 1,
    INDEX service_bloom_filter service TYPE bloom_filter(0.01) GRANULARITY 1,
    INDEX owner_bloom_filter owner TYPE bloom_filter(0.01) GRANULARITY 1,
    INDEX provider_bloom_filter provider TYPE bloom_filter(0.01) GRANULARITY 1,
    INDEX pathway_category_bloom_filter pathway_category TYPE bloom_filter(0.01) GRANULARITY 1,
    INDEX output_state_bloom_filter output_state TYPE bloom_filter(0.01) GRANULARITY 1,
    INDEX stage_origin_bloom_filter stage_origin TYPE bloom_filter(0.01) GRANULARITY 1,
    INDEX confidence_band_bloom_filter confidence_band TYPE bloom_filter(0.01) GRANULARITY 1,
    INDEX evidence_basis_bloom_filter evidence_basis TYPE bloom_filter(0.01) GRANULARITY 1,
    INDEX degradation_state_bloom_filter degradation_state TYPE bloom_filter(0.01) GRANULARITY 1,
    INDEX export_eligibility_bloom_filter export_eligibility TYPE bloom_filter(0.01) GRANULARITY 1,
    INDEX dimensions_bloom_filter dimensions TYPE bloom_filter(0.01) GRANULARITY 1,
    INDEX usage_basis_bloom_filter usage_basis TYPE bloom_filter(0.01) GRANULARITY 1,
    INDEX outcome_bloom_filter outcome TYPE bloom_filter(0.01) GRANULARITY 1
)
ENGINE = ReplicatedMergeTree('/clickhouse/tables/{shard}/{database}/attributions_by_carbon_gco2e', '{replica}')
PARTITION BY toYYYYMM(valid_from)
ORDER BY (tenant_id, carbon_gco2e, id)
SETTINGS replicated_deduplication_window = 10000, replicated_deduplication_window_seconds = 604800, index_granularity = 2048, auto_statistics_types = '', packed_skip_index_max_bytes = 1048576, min_compress_block_size = 8192, max_compress_block_size = 65536, min_age_to_force_merge_seconds = 86400, min_bytes_for_wide_part = 1073741824;

CREATE TABLE IF NOT EXISTS attributions_by_carbon_gco2e ON CLUSTER attribution AS attributions_by_carbon_gco2e_local
ENGINE = Distributed(attribution, currentDatabase(), attributions_by_carbon_gco2e_local, cityHash64(tenant_id));

CREATE TABLE IF NOT EXISTS attributions_by_confidence_local ON CLUSTER attribution
(
    `tenant_id` LowCardinality(String),
    `id` FixedString(16),
    `event_time` DateTime64(3, 'UTC') CODEC(ZSTD(1)),
    `valid_from` DateTime64(3, 'UTC') CODEC(ZSTD(1)),
    `provider` LowCardinality(String),
    `requested_model` LowCardinality(String),
    `served_model` LowCardinality(String),
    `service` LowCardinality(String),
    `owner` LowCardinality(String),
    `cost_usd` Decimal(38, 18) CODEC(ZSTD(1)),
    `energy_wh` Decimal(38, 18) CODEC(ZSTD(1)),
    `carbon_gco2e` Decimal(38, 18) CODEC(ZSTD(1)),
    `pathway_category` LowCardinality(String),
    `output_state` LowCardinality(String),
    `stage_origin` LowCardinality(String),
    `confidence` Decimal(5, 4),
    `confidence_band` LowCardinality(String),
    `evidence_basis` LowCardinality(String),
    `model_version` LowCardinality(String),
    `degradation_state` LowCardinality(String),
    `freshness` LowCardinality(String),
    `export_eligibility` LowCardinality(String),
    `contested` LowCardinality(String),
    `cost_basis` LowCardinality(String),
    `cost_bound` LowCardinality(String),
    `usage_basis` LowCardinality(String),
    `outcome` LowCardinality(String),
    `energy_basis` LowCardinality(String),
    `carbon_basis` LowCardinality(String),
    `input_tokens` Nullable(UInt64) CODEC(ZSTD(1)),
    `output_tokens` Nullable(UInt64) CODEC(ZSTD(1)),
    `ingestion_layer` LowCardinality(String),
    `trace_id` String CODEC(ZSTD(1)),
    `dimensions` Array(LowCardinality(String)),
    `shown_labels` LowCardinality(String) DEFAULT concat('[', '"', toString(pathway_category), '"', ',', '"', toString(output_state), '"', ',', '"', toString(stage_origin), '"', ',', '"', toString(confidence_band), '"', ',', '"', toString(evidence_basis), '"', ',', '"', toString(degradation_state), '"', ',', '"', toString(freshness), '"', ',', '"', toString(export_eligibility), '"', ',', '"', toString(contested), '"', ',', '"', toString(cost_basis), '"', ',', '"', toString(cost_bound), '"', ',', '"', toString(usage_basis), '"', ',', '"', toString(outcome), '"', ',', '"', toString(energy_basis), '"', ',', '"', toString(carbon_basis), '"', ']'),
    INDEX id_minmax id TYPE minmax GRANULARITY 1,
    INDEX event_time_minmax event_time TYPE minmax GRANULARITY 1,
    INDEX valid_from_minmax valid_from TYPE minmax GRANULARITY 1,
    INDEX cost_usd_minmax cost_usd TYPE minmax GRANULARITY 1,
    INDEX energy_wh_minmax energy_wh TYPE minmax GRANULARITY 1,
    INDEX carbon_gco2e_minmax carbon_gco2e TYPE minmax GRANULARITY 1,
    INDEX served_model_bloom_filter served_model TYPE bloom_filter(0.01) GRANULARITY 1,
    INDEX service_bloom_filter service TYPE bloom_filter(0.01) GRANULARITY 1,
    INDEX owner_bloom_filter owner TYPE bloom_filter(0.01) GRANULARITY 1,
    INDEX provider_bloom_filter provider TYPE bloom_filter(0.01) GRANULARITY 1,
    INDEX pathway_category_bloom_filter pathway_category TYPE bloom_filter(0.01) GRANULARITY 1,
    INDEX output_state_bloom_filter output_state TYPE bloom_filter(0.01) GRANULARITY 1,
    INDEX stage_origin_bloom_filter stage_origin TYPE bloom_filter(0.01) GRANULARITY 1,
    INDEX confidence_band_bloom_filter confidence_band TYPE bloom_filter(0.01) GRANULARITY 1,
    INDEX evidence_basis_bloom_filter evidence_basis TYPE bloom_filter(0.01) GRANULARITY 1,
    INDEX degradation_state_bloom_filter degradation_state TYPE bloom_filter(0.01) GRANULARITY 1,
    INDEX export_eligibility_bloom_filter export_eligibility TYPE bloom_filter(0.01) GRANULARITY 1,
    INDEX dimensions_bloom_filter dimensions TYPE bloom_filter(0.01) GRANULARITY 1,
    INDEX usage_basis_bloom_filter usage_basis TYPE bloom_filter(0.01) GRANULARITY 1,
    INDEX outcome_bloom_filter outcome TYPE bloom_filter(0.01) GRANULARITY 1
)
ENGINE = ReplicatedMergeTree('/clickhouse/tables/{shard}/{database}/attributions_by_confidence', '{replica}')
PARTITION BY toYYYYMM(valid_from)
ORDER BY (tenant_id, confidence, id)
SETTINGS replicated_deduplication_window = 10000, replicated_deduplication_window_seconds = 604800, index_granularity = 2048, auto_statistics_types = '', packed_skip_index_max_bytes = 1048576, min_compress_block_size = 8192, max_compress_block_size = 65536, min_age_to_force_merge_seconds = 86400, min_bytes_for_wide_part = 1073741824;

CREATE TABLE IF NOT EXISTS attributions_by_confidence ON CLUSTER attribution AS attributions_by_confidence_local
ENGINE = Distributed(attribution, currentDatabase(), attributions_by_confidence_local, cityHash64(tenant_id));

CREATE TABLE IF NOT EXISTS attributions_by_provider_local ON CLUSTER attribution
(
    `tenant_id` LowCardinality(String),
    `id` FixedString(16),
    `event_time` DateTime64(3, 'UTC') CODEC(ZSTD(1)),
    `valid_from` DateTime64(3, 'UTC') CODEC(ZSTD(1)),
    `provider` LowCardinality(String),
    `requested_model` LowCardinality(String),
    `served_model` LowCardinality(String),
    `service` LowCardinality(String),
    `owner` LowCardinality(String),
    `cost_usd` Decimal(38, 18) CODEC(ZSTD(1)),
    `energy_wh` Decimal(38, 18) CODEC(ZSTD(1)),
    `carbon_gco2e` Decimal(38, 18) CODEC(ZSTD(1)),
    `pathway_category` LowCardinality(String),
    `output_state` LowCardinality(String),
    `stage_origin` LowCardinality(String),
    `confidence` Decimal(5, 4),
    `confidence_band` LowCardinality(String),
    `evidence_basis` LowCardinality(String),
    `model_version` LowCardinality(String),
    `degradation_state` LowCardinality(String),
    `freshness` LowCardinality(String),
    `export_eligibility` LowCardinality(String),
    `contested` LowCardinality(String),
    `cost_basis` LowCardinality(String),
    `cost_bound` LowCardinality(String),
    `usage_basis` LowCardinality(String),
    `outcome` LowCardinality(String),
    `energy_basis` LowCardinality(String),
    `carbon_basis` LowCardinality(String),
    `input_tokens` Nullable(UInt64) CODEC(ZSTD(1)),
    `output_tokens` Nullable(UInt64) CODEC(ZSTD(1)),
    `ingestion_layer` LowCardinality(String),
    `trace_id` String CODEC(ZSTD(1)),
    `dimensions` Array(LowCardinality(String)),
    `shown_labels` LowCardinality(String) DEFAULT concat('[', '"', toString(pathway_category), '"', ',', '"', toString(output_state), '"', ',', '"', toString(stage_origin), '"', ',', '"', toString(confidence_band), '"', ',', '"', toString(evidence_basis), '"', ',', '"', toString(degradation_state), '"', ',', '"', toString(freshness), '"', ',', '"', toString(export_eligibility), '"', ',', '"', toString(contested), '"', ',', '"', toString(cost_basis), '"', ',', '"', toString(cost_bound), '"', ',', '"', toString(usage_basis), '"', ',', '"', toString(outcome), '"', ',', '"', toString(energy_basis), '"', ',', '"', toString(carbon_basis), '"', ']'),
    INDEX id_minmax id TYPE minmax GRANULARITY 1,
    INDEX event_time_minmax event_time TYPE minmax GRANULARITY 1,
    INDEX valid_from_minmax valid_from TYPE minmax GRANULARITY 1,
    INDEX cost_usd_minmax cost_usd TYPE minmax GRANULARITY 1,
    INDEX energy_wh_minmax energy_wh TYPE minmax GRANULARITY 1,
    INDEX carbon_gco2e_minmax carbon_gco2e TYPE minmax GRANULARITY 1,
    INDEX confidence_minmax confidence TYPE minmax GRANULARITY 1,
    INDEX served_model_bloom_filter served_model TYPE bloom_filter(0.01) GRANULARITY 1,
    INDEX service_bloom_filter service TYPE bloom_filter(0.01) GRANULARITY 1,
    INDEX owner_bloom_filter owner TYPE bloom_filter(0.01) GRANULARITY 1,
    INDEX pathway_category_bloom_filter pathway_category TYPE bloom_filter(0.01) GRANULARITY 1,
    INDEX output_state_bloom_filter output_state TYPE bloom_filter(0.01) GRANULARITY 1,
    INDEX stage_origin_bloom_filter stage_origin TYPE bloom_filter(0.01) GRANULARITY 1,
    INDEX confidence_band_bloom_filter confidence_band TYPE bloom_filter(0.01) GRANULARITY 1,
    INDEX evidence_basis_bloom_filter evidence_basis TYPE bloom_filter(0.01) GRANULARITY 1,
    INDEX degradation_state_bloom_filter degradation_state TYPE bloom_filter(0.01) GRANULARITY 1,
    INDEX export_eligibility_bloom_filter export_eligibility TYPE bloom_filter(0.01) GRANULARITY 1,
    INDEX dimensions_bloom_filter dimensions TYPE bloom_filter(0.01) GRANULARITY 1,
    INDEX usage_basis_bloom_filter usage_basis TYPE bloom_filter(0.01) GRANULARITY 1,
    INDEX outcome_bloom_filter outcome TYPE bloom_filter(0.01) GRANULARITY 1
)
ENGINE = ReplicatedMergeTree('/clickhouse/tables/{shard}/{database}/attributions_by_provider', '{replica}')
PARTITION BY toYYYYMM(valid_from)
ORDER BY (tenant_id, provider, id)
SETTINGS replicated_deduplication_window = 10000, replicated_deduplication_window_seconds = 604800, index_granularity = 2048, auto_statistics_types = '', packed_skip_index_max_bytes = 1048576, min_compress_block_size = 8192, max_compress_block_size = 65536, min_age_to_force_merge_seconds = 86400, min_bytes_for_wide_part = 1073741824;

CREATE TABLE IF NOT EXISTS attributions_by_provider ON CLUSTER attribution AS attributions_by_provider_local
ENGINE = Distributed(attribution, currentDatabase(), attributions_by_provider_local, cityHash64(tenant_id));

CREATE TABLE IF NOT EXISTS attributions_by_served_model_local ON CLUSTER attribution
(
    `tenant_id` LowCardinality(String),
    `id` FixedString(16),
    `event_time` DateTime64(3, 'UTC') CODEC(ZSTD(1)),
    `valid_from` DateTime64(3, 'UTC') CODEC(ZSTD(1)),
    `provider` LowCardinality(String),
    `requested_model` LowCardinality(String),
    `served_model` LowCardinality(String),
    `service` LowCardinality(String),
    `owner` LowCardinality(String),
    `cost_usd` Decimal(38, 18) CODEC(ZSTD(1)),
    `energy_wh` Decimal(38, 18) CODEC(ZSTD(1)),
    `carbon_gco2e` Decimal(38, 18) CODEC(ZSTD(1)),
    `pathway_category` LowCardinality(String),
    `output_state` LowCardinality(String),
    `stage_origin` LowCardinality(String),
    `confidence` Decimal(5, 4),
    `confidence_band` LowCardinality(String),
    `evidence_basis` LowCardinality(String),
    `model_version` LowCardinality(String),
    `degradation_state` LowCardinality(String),
    `freshness` LowCardinality(String),
    `export_eligibility` LowCardinality(String),
    `contested` LowCardinality(String),
    `cost_basis` LowCardinality(String),
    `cost_bound` LowCardinality(String),
    `usage_basis` LowCardinality(String),
    `outcome` LowCardinality(String),
    `energy_basis` LowCardinality(String),
    `carbon_basis` LowCardinality(String),
    `input_tokens` Nullable(UInt64) CODEC(ZSTD(1)),
    `output_tokens` Nullable(UInt64) CODEC(ZSTD(1)),
    `ingestion_layer` LowCardinality(String),
    `trace_id` String CODEC(ZSTD(1)),
    `dimensions` Array(LowCardinality(String)),
    `shown_labels` LowCardinality(String) DEFAULT concat('[', '"', toString(pathway_category), '"', ',', '"', toString(output_state), '"', ',', '"', toString(stage_origin), '"', ',', '"', toString(confidence_band), '"', ',', '"', toString(evidence_basis), '"', ',', '"', toString(degradation_state), '"', ',', '"', toString(freshness), '"', ',', '"', toString(export_eligibility), '"', ',', '"', toString(contested), '"', ',', '"', toString(cost_basis), '"', ',', '"', toString(cost_bound), '"', ',', '"', toString(usage_basis), '"', ',', '"', toString(outcome), '"', ',', '"', toString(energy_basis), '"', ',', '"', toString(carbon_basis), '"', ']'),
    INDEX id_minmax id TYPE minmax GRANULARITY 1,
    INDEX event_time_minmax event_time TYPE minmax GRANULARITY 1,
    INDEX valid_from_minmax valid_from TYPE minmax GRANULARITY 1,
    INDEX cost_usd_minmax cost_usd TYPE minmax GRANULARITY 1,
    INDEX energy_wh_minmax energy_wh TYPE minmax GRANULARITY 1,
    INDEX carbon_gco2e_minmax carbon_gco2e TYPE minmax GRANULARITY 1,
    INDEX confidence_minmax confidence TYPE minmax GRANULARITY 1,
    INDEX service_bloom_filter service TYPE bloom_filter(0.01) GRANULARITY 1,
    INDEX owner_bloom_filter owner TYPE bloom_filter(0.01) GRANULARITY 1,
    INDEX provider_bloom_filter provider TYPE bloom_filter(0.01) GRANULARITY 1,
    INDEX pathway_category_bloom_filter pathway_category TYPE bloom_filter(0.01) GRANULARITY 1,
    INDEX output_state_bloom_filter output_state TYPE bloom_filter(0.01) GRANULARITY 1,
    INDEX stage_origin_bloom_filter stage_origin TYPE bloom_filter(0.01) GRANULARITY 1,
    INDEX confidence_band_bloom_filter confidence_band TYPE bloom_filter(0.01) GRANULARITY 1,
    INDEX evidence_basis_bloom_filter evidence_basis TYPE bloom_filter(0.01) GRANULARITY 1,
    INDEX degradation_state_bloom_filter degradation_state TYPE bloom_filter(0.01) GRANULARITY 1,
    INDEX export_eligibility_bloom_filter export_eligibility TYPE bloom_filter(0.01) GRANULARITY 1,
    INDEX dimensions_bloom_filter dimensions TYPE bloom_filter(0.01) GRANULARITY 1,
    INDEX usage_basis_bloom_filter usage_basis TYPE bloom_filter(0.01) GRANULARITY 1,
    INDEX outcome_bloom_filter outcome TYPE bloom_filter(0.01) GRANULARITY 1
)
ENGINE = ReplicatedMergeTree('/clickhouse/tables/{shard}/{database}/attributions_by_served_model', '{replica}')
PARTITION BY toYYYYMM(valid_from)
ORDER BY (tenant_id, served_model, id)
SETTINGS replicated_deduplication_window = 10000, replicated_deduplication_window_seconds = 604800, index_granularity = 2048, auto_statistics_types = '', packed_skip_index_max_bytes = 1048576, min_compress_block_size = 8192, max_compress_block_size = 65536, min_age_to_force_merge_seconds = 86400, min_bytes_for_wide_part = 1073741824;

CREATE TABLE IF NOT EXISTS attributions_by_served_model ON CLUSTER attribution AS attributions_by_served_model_local
ENGINE = Distributed(attribution, currentDatabase(), attributions_by_served_model_local, cityHash64(tenant_id));

CREATE TABLE IF NOT EXISTS attributions_by_service_local ON CLUSTER attribution
(
    `tenant_id` LowCardinality(String),
    `id` FixedString(16),
    `event_time` DateTime64(3, 'UTC') CODEC(ZSTD(1)),
    `valid_from` DateTime64(3, 'UTC') CODEC(ZSTD(1)),
    `provider` LowCardinality(String),
    `requested_model` LowCardinality(String),
    `served_model` LowCardinality(String),
    `service` LowCardinality(String),
    `owner` LowCardinality(String),
    `cost_usd` Decimal(38, 18) CODEC(ZSTD(1)),
    `energy_wh` Decimal(38, 18) CODEC(ZSTD(1)),
    `carbon_gco2e` Decimal(38, 18) CODEC(ZSTD(1)),
    `pathway_category` LowCardinality(String),
    `output_state` LowCardinality(String),
    `stage_origin` LowCardinality(String),
    `confidence` Decimal(5, 4),
    `confidence_band` LowCardinality(String),
    `evidence_basis` LowCardinality(String),
    `model_version` LowCardinality(String),
    `degradation_state` LowCardinality(String),
    `freshness` LowCardinality(String),
    `export_eligibility` LowCardinality(String),
    `contested` LowCardinality(String),
    `cost_basis` LowCardinality(String),
    `cost_bound` LowCardinality(String),
    `usage_basis` LowCardinality(String),
    `outcome` LowCardinality(String),
    `energy_basis` LowCardinality(String),
    `carbon_basis` LowCardinality(String),
    `input_tokens` Nullable(UInt64) CODEC(ZSTD(1)),
    `output_tokens` Nullable(UInt64) CODEC(ZSTD(1)),
    `ingestion_layer` LowCardinality(String),
    `trace_id` String CODEC(ZSTD(1)),
    `dimensions` Array(LowCardinality(String)),
    `shown_labels` LowCardinality(String) DEFAULT concat('[', '"', toString(pathway_category), '"', ',', '"', toString(output_state), '"', ',', '"', toString(stage_origin), '"', ',', '"', toString(confidence_band), '"', ',', '"', toString(evidence_basis), '"', ',', '"', toString(degradation_state), '"', ',', '"', toString(freshness), '"', ',', '"', toString(export_eligibility), '"', ',', '"', toString(contested), '"', ',', '"', toString(cost_basis), '"', ',', '"', toString(cost_bound), '"', ',', '"', toString(usage_basis), '"', ',', '"', toString(outcome), '"', ',', '"', toString(energy_basis), '"', ',', '"', toString(carbon_basis), '"', ']'),
    INDEX id_minmax id TYPE minmax GRANULARITY 1,
    INDEX event_time_minmax event_time TYPE minmax GRANULARITY 1,
    INDEX valid_from_minmax valid_from TYPE minmax GRANULARITY 1,
    INDEX cost_usd_minmax cost_usd TYPE minmax GRANULARITY 1,
    INDEX energy_wh_minmax energy_wh TYPE minmax GRANULARITY 1,
    INDEX carbon_gco2e_minmax carbon_gco2e TYPE minmax GRANULARITY 1,
    INDEX confidence_minmax confidence TYPE minmax GRANULARITY 1,
    INDEX served_model_bloom_filter served_model TYPE bloom_filter(0.01) GRANULARITY 1,
    INDEX owner_bloom_filter owner TYPE bloom_filter(0.01) GRANULARITY 1,
    INDEX provider_bloom_filter provider TYPE bloom_filter(0.01) GRANULARITY 1,
    INDEX pathway_category_bloom_filter pathway_category TYPE bloom_filter(0.01) GRANULARITY 1,
    INDEX output_state_bloom_filter output_state TYPE bloom_filter(0.01) GRANULARITY 1,
    INDEX stage_origin_bloom_filter stage_origin TYPE bloom_filter(0.01) GRANULARITY 1,
    INDEX confidence_band_bloom_filter confidence_band TYPE bloom_filter(0.01) GRANULARITY 1,
    INDEX evidence_basis_bloom_filter evidence_basis TYPE bloom_filter(0.01) GRANULARITY 1,
    INDEX degradation_state_bloom_filter degradation_state TYPE bloom_filter(0.01) GRANULARITY 1,
    INDEX export_eligibility_bloom_filter export_eligibility TYPE bloom_filter(0.01) GRANULARITY 1,
    INDEX dimensions_bloom_filter dimensions TYPE bloom_filter(0.01) GRANULARITY 1,
    INDEX usage_basis_bloom_filter usage_basis TYPE bloom_filter(0.01) GRANULARITY 1,
    INDEX outcome_bloom_filter outcome TYPE bloom_filter(0.01) GRANULARITY 1
)
ENGINE = ReplicatedMergeTree('/clickhouse/tables/{shard}/{database}/attributions_by_service', '{replica}')
PARTITION BY toYYYYMM(valid_from)
ORDER BY (tenant_id, service, id)
SETTINGS replicated_deduplication_window = 10000, replicated_deduplication_window_seconds = 604800, index_granularity = 2048, auto_statistics_types = '', packed_skip_index_max_bytes = 1048576, min_compress_block_size = 8192, max_compress_block_size = 65536, min_age_to_force_merge_seconds = 86400, min_bytes_for_wide_part = 1073741824;

CREATE TABLE IF NOT EXISTS attributions_by_service ON CLUSTER attribution AS attributions_by_service_local
ENGINE = Distributed(attribution, currentDatabase(), attributions_by_service_local, cityHash64(tenant_id));

CREATE TABLE IF NOT EXISTS attributions_by_owner_local ON CLUSTER attribution
(
    `tenant_id` LowCardinality(String),
    `id` FixedString(16),
    `event_time` DateTime64(3, 'UTC') CODEC(ZSTD(1)),
    `valid_from` DateTime64(3, 'UTC') CODEC(ZSTD(1)),
    `provider` LowCardinality(String),
    `requested_model` LowCardinality(String),
    `served_model` LowCardinality(String),
    `service` LowCardinality(String),
    `owner` LowCardinality(String),
    `cost_usd` Decimal(38, 18) CODEC(ZSTD(1)),
    `energy_wh` Decimal(38, 18) CODEC(ZSTD(1)),
    `carbon_gco2e` Decimal(38, 18) CODEC(ZSTD(1)),
    `pathway_category` LowCardinality(String),
    `output_state` LowCardinality(String),
    `stage_origin` LowCardinality(String),
    `confidence` Decimal(5, 4),
    `confidence_band` LowCardinality(String),
    `evidence_basis` LowCardinality(String),
    `model_version` LowCardinality(String),
    `degradation_state` LowCardinality(String),
    `freshness` LowCardinality(String),
    `export_eligibility` LowCardinality(String),
    `contested` LowCardinality(String),
    `cost_basis` LowCardinality(String),
    `cost_bound` LowCardinality(String),
    `usage_basis` LowCardinality(String),
    `outcome` LowCardinality(String),
    `energy_basis` LowCardinality(String),
    `carbon_basis` LowCardinality(String),
    `input_tokens` Nullable(UInt64) CODEC(ZSTD(1)),
    `output_tokens` Nullable(UInt64) CODEC(ZSTD(1)),
    `ingestion_layer` LowCardinality(String),
    `trace_id` String CODEC(ZSTD(1)),
    `dimensions` Array(LowCardinality(String)),
    `shown_labels` LowCardinality(String) DEFAULT concat('[', '"', toString(pathway_category), '"', ',', '"', toString(output_state), '"', ',', '"', toString(stage_origin), '"', ',', '"', toString(confidence_band), '"', ',', '"', toString(evidence_basis), '"', ',', '"', toString(degradation_state), '"', ',', '"', toString(freshness), '"', ',', '"', toString(export_eligibility), '"', ',', '"', toString(contested), '"', ',', '"', toString(cost_basis), '"', ',', '"', toString(cost_bound), '"', ',', '"', toString(usage_basis), '"', ',', '"', toString(outcome), '"', ',', '"', toString(energy_basis), '"', ',', '"', toString(carbon_basis), '"', ']'),
    INDEX id_minmax id TYPE minmax GRANULARITY 1,
    INDEX event_time_minmax event_time TYPE minmax GRANULARITY 1,
    INDEX valid_from_minmax valid_from TYPE minmax GRANULARITY 1,
    INDEX cost_usd_minmax cost_usd TYPE minmax GRANULARITY 1,
    INDEX energy_wh_minmax energy_wh TYPE minmax GRANULARITY 1,
    INDEX carbon_gco2e_minmax carbon_gco2e TYPE minmax GRANULARITY 1,
    INDEX confidence_minmax confidence TYPE minmax GRANULARITY 1,
    INDEX served_model_bloom_filter served_model TYPE bloom_filter(0.01) GRANULARITY 1,
    INDEX service_bloom_filter service TYPE bloom_filter(0.01) GRANULARITY 1,
    INDEX provider_bloom_filter provider TYPE bloom_filter(0.01) GRANULARITY 1,
    INDEX pathway_category_bloom_filter pathway_category TYPE bloom_filter(0.01) GRANULARITY 1,
    INDEX output_state_bloom_filter output_state TYPE bloom_filter(0.01) GRANULARITY 1,
    INDEX stage_origin_bloom_filter stage_origin TYPE bloom_filter(0.01) GRANULARITY 1,
    INDEX confidence_band_bloom_filter confidence_band TYPE bloom_filter(0.01) GRANULARITY 1,
    INDEX evidence_basis_bloom_filter evidence_basis TYPE bloom_filter(0.01) GRANULARITY 1,
    INDEX degradation_state_bloom_filter degradation_state TYPE bloom_filter(0.01) GRANULARITY 1,
    INDEX export_eligibility_bloom_filter export_eligibility TYPE bloom_filter(0.01) GRANULARITY 1,
    INDEX dimensions_bloom_filter dimensions TYPE bloom_filter(0.01) GRANULARITY 1,
    INDEX usage_basis_bloom_filter usage_basis TYPE bloom_filter(0.01) GRANULARITY 1,
    INDEX outcome_bloom_filter outcome TYPE bloom_filter(0.01) GRANULARITY 1
)
ENGINE = ReplicatedMergeTree('/clickhouse/tables/{shard}/{database}/attributions_by_owner', '{replica}')
PARTITION BY toYYYYMM(valid_from)
ORDER BY (tenant_id, owner, id)
SETTINGS replicated_deduplication_window = 10000, replicated_deduplication_window_seconds = 604800, index_granularity = 2048, auto_statistics_types = '', packed_skip_index_max_bytes = 1048576, min_compress_block_size = 8192, max_compress_block_size = 65536, min_age_to_force_merge_seconds = 86400, min_bytes_for_wide_part = 1073741824;

CREATE TABLE IF NOT EXISTS attributions_by_owner ON CLUSTER attribution AS attributions_by_owner_local
ENGINE = Distributed(attribution, currentDatabase(), attributions_by_owner_local, cityHash64(tenant_id));

CREATE TABLE IF NOT EXISTS attributions_by_labels_local ON CLUSTER attribution
(
    `tenant_id` LowCardinality(String),
    `id` FixedString(16),
    `event_time` DateTime64(3, 'UTC') CODEC(ZSTD(1)),
    `valid_from` DateTime64(3, 'UTC') CODEC(ZSTD(1)),
    `provider` LowCardinality(String),
    `requested_model` LowCardinality(String),
    `served_model` LowCardinality(String),
    `service` LowCardinality(String),
    `owner` LowCardinality(String),
    `cost_usd` Decimal(38, 18) CODEC(ZSTD(1)),
    `energy_wh` Decimal(38, 18) CODEC(ZSTD(1)),
    `carbon_gco2e` Decimal(38, 18) CODEC(ZSTD(1)),
    `pathway_category` LowCardinality(String),
    `output_state` LowCardinality(String),
    `stage_origin` LowCardinality(String),
    `confidence` Decimal(5, 4),
    `confidence_band` LowCardinality(String),
    `evidence_basis` LowCardinality(String),
    `model_version` LowCardinality(String),
    `degradation_state` LowCardinality(String),
    `freshness` LowCardinality(String),
    `export_eligibility` LowCardinality(String),
    `contested` LowCardinality(String),
    `cost_basis` LowCardinality(String),
    `cost_bound` LowCardinality(String),
    `usage_basis` LowCardinality(String),
    `outcome` LowCardinality(String),
    `energy_basis` LowCardinality(String),
    `carbon_basis` LowCardinality(String),
    `input_tokens` Nullable(UInt64) CODEC(ZSTD(1)),
    `output_tokens` Nullable(UInt64) CODEC(ZSTD(1)),
    `ingestion_layer` LowCardinality(String),
    `trace_id` String CODEC(ZSTD(1)),
    `dimensions` Array(LowCardinality(String)),
    `shown_labels` LowCardinality(String) DEFAULT concat('[', '"', toString(pathway_category), '"', ',', '"', toString(output_state), '"', ',', '"', toString(stage_origin), '"', ',', '"', toString(confidence_band), '"', ',', '"', toString(evidence_basis), '"', ',', '"', toString(degradation_state), '"', ',', '"', toString(freshness), '"', ',', '"', toString(export_eligibility), '"', ',', '"', toString(contested), '"', ',', '"', toString(cost_basis), '"', ',', '"', toString(cost_bound), '"', ',', '"', toString(usage_basis), '"', ',', '"', toString(outcome), '"', ',', '"', toString(energy_basis), '"', ',', '"', toString(carbon_basis), '"', ']'),
    INDEX id_minmax id TYPE minmax GRANULARITY 1,
    INDEX event_time_minmax event_time TYPE minmax GRANULARITY 1,
    INDEX valid_from_minmax valid_from TYPE minmax GRANULARITY 1,
    INDEX cost_usd_minmax cost_usd TYPE minmax GRANULARITY 1,
    INDEX energy_wh_minmax energy_wh TYPE minmax GRANULARITY 1,
    INDEX carbon_gco2e_minmax carbon_gco2e TYPE minmax GRANULARITY 1,
    INDEX confidence_minmax confidence TYPE minmax GRANULARITY 1,
    INDEX served_model_bloom_filter served_model TYPE bloom_filter(0.01) GRANULARITY 1,
    INDEX service_bloom_filter service TYPE bloom_filter(0.01) GRANULARITY 1,
    INDEX owner_bloom_filter owner TYPE bloom_filter(0.01) GRANULARITY 1,
    INDEX provider_bloom_filter provider TYPE bloom_filter(0.01) GRANULARITY 1,
    INDEX dimensions_bloom_filter dimensions TYPE bloom_filter(0.01) GRANULARITY 1,
    INDEX usage_basis_bloom_filter usage_basis TYPE bloom_filter(0.01) GRANULARITY 1,
    INDEX outcome_bloom_filter outcome TYPE bloom_filter(0.01) GRANULARITY 1
)
ENGINE = ReplicatedMergeTree('/clickhouse/tables/{shard}/{database}/attributions_by_labels', '{replica}')
PARTITION BY toYYYYMM(valid_from)
ORDER BY (tenant_id, output_state, degradation_state, evidence_basis, export_eligibility, stage_origin, confidence_band, pathway_category, id)
SETTINGS replicated_deduplication_window = 10000, replicated_deduplication_window_seconds = 604800, index_granularity = 2048, auto_statistics_types = '', packed_skip_index_max_bytes = 1048576, min_compress_block_size = 8192, max_compress_block_size = 65536, min_age_to_force_merge_seconds = 86400, min_bytes_for_wide_part = 1073741824;

CREATE TABLE IF NOT EXISTS attributions_by_labels ON CLUSTER attribution AS attributions_by_labels_local
ENGINE = Distributed(attribution, currentDatabase(), attributions_by_labels_local, cityHash64(tenant_id));

CREATE TABLE IF NOT EXISTS attribution_values_local ON CLUSTER attribution
(
    `tenant_id` LowCardinality(String),
    `field` LowCardinality(String),
    `value` String
)
ENGINE = ReplicatedReplacingMergeTree('/clickhouse/tables/{shard}/{database}/attribution_values', '{replica}')
ORDER BY (tenant_id, field, value);

CREATE TABLE IF NOT EXISTS attribution_values ON CLUSTER attribution AS attribution_values_local
ENGINE = Distributed(attribution, currentDatabase(), attribution_values_local, cityHash64(tenant_id));

CREATE TABLE IF NOT EXISTS settling_local ON CLUSTER attribution
(
    `state` LowCardinality(String),
    `starts_at` DateTime64(3, 'UTC'),
    `ends_at` DateTime64(3, 'UTC')
)
ENGINE = ReplicatedReplacingMergeTree('/clickhouse/tables/{shard}/{database}/settling', '{replica}', ends_at)
ORDER BY state
SETTINGS replicated_deduplication_window = 1000, replicated_deduplication_window_seconds = 604800;

CREATE TABLE IF NOT EXISTS settling ON CLUSTER attribution AS settling_local
ENGINE = Distributed(attribution, currentDatabase(), settling_local, 0);

CREATE TABLE IF NOT EXISTS closed_local ON CLUSTER attribution
(
    `tenant_id` LowCardinality(String),
    `id` FixedString(16),
    `event_time` DateTime64(3, 'UTC'),
    `valid_from` DateTime64(3, 'UTC'),
    `provider` LowCardinality(String),
    `served_model` LowCardinality(String),
    `service` LowCardinality(String),
    `owner` LowCardinality(String),
    `cost_usd` Decimal(38, 18),
    `energy_wh` Decimal(38, 18),
    `carbon_gco2e` Decimal(38, 18),
    `pathway_category` LowCardinality(String),
    `output_state` LowCardinality(String),
    `stage_origin` LowCardinality(String),
    `confidence_band` LowCardinality(String),
    `evidence_basis` LowCardinality(String),
    `degradation_state` LowCardinality(String),
    `export_eligibility` LowCardinality(String),
    `cost_basis` LowCardinality(String),
    `energy_basis` LowCardinality(String),
    `carbon_basis` LowCardinality(String),
    `input_tokens` Nullable(UInt64),
    `output_tokens` Nullable(UInt64),
    `cached_input_tokens` Nullable(UInt64),
    `cache_write_tokens` Nullable(UInt64),
    `reasoning_tokens` Nullable(UInt64),
    `ingestion_layer` LowCardinality(String),
    `principal` LowCardinality(String),
    `identity_hash` FixedString(16),
    `workload_identity` LowCardinality(String),
    `closed_at` DateTime64(3, 'UTC'),
    `change` LowCardinality(String),
    `change_id` String,
    `actor` LowCardinality(String)
)
ENGINE = ReplicatedMergeTree('/clickhouse/tables/{shard}/{database}/closed', '{replica}')
ORDER BY (tenant_id, id, valid_from)
SETTINGS replicated_deduplication_window = 10000, replicated_deduplication_window_seconds = 604800;

CREATE TABLE IF NOT EXISTS closed ON CLUSTER attribution AS closed_local
ENGINE = Distributed(attribution, currentDatabase(), closed_local, cityHash64(tenant_id));

CREATE TABLE IF NOT EXISTS closed_history_local ON CLUSTER attribution
(
    `tenant_id` LowCardinality(String),
    `id` FixedString(16),
    `event_time` DateTime64(3, 'UTC'),
    `valid_from` DateTime64(3, 'UTC'),
    `provider` LowCardinality(String),
    `served_model` LowCardinality(String),
    `service` LowCardinality(String),
    `owner` LowCardinality(String),
    `cost_usd` Decimal(38, 18),
    `energy_wh` Decimal(38, 18),
    `carbon_gco2e` Decimal(38, 18),
    `pathway_category` LowCardinality(String),
    `output_state` LowCardinality(String),
    `stage_origin` LowCardinality(String),
    `confidence_band` LowCardinality(String),
    `evidence_basis` LowCardinality(String),
    `degradation_state` LowCardinality(String),
    `export_eligibility` LowCardinality(String),
    `cost_basis` LowCardinality(String),
    `energy_basis` LowCardinality(String),
    `carbon_basis` LowCardinality(String),
    `input_tokens` Nullable(UInt64),
    `output_tokens` Nullable(UInt64),
    `cached_input_tokens` Nullable(UInt64),
    `cache_write_tokens` Nullable(UInt64),
    `reasoning_tokens` Nullable(UInt64),
    `ingestion_layer` LowCardinality(String),
    `principal` LowCardinality(String),
    `identity_hash` FixedString(16),
    `workload_identity` LowCardinality(String),
    `closed_at` DateTime64(3, 'UTC'),
    `change` LowCardinality(String),
    `change_id` String,
    `actor` LowCardinality(String)
)
ENGINE = ReplicatedMergeTree('/clickhouse/tables/{shard}/{database}/closed_history', '{replica}')
ORDER BY (tenant_id, id, valid_from)
SETTINGS replicated_deduplication_window = 10000, replicated_deduplication_window_seconds = 604800;

CREATE TABLE IF NOT EXISTS closed_history ON CLUSTER attribution AS closed_history_local
ENGINE = Distributed(attribution, currentDatabase(), closed_history_local, cityHash64(tenant_id));

CREATE TABLE IF NOT EXISTS usage_15m_local ON CLUSTER attribution
(
    `tenant_id` LowCardinality(String),
    `bucket` DateTime('UTC'),
    `provider` LowCardinality(String),
    `served_model` LowCardinality(String),
    `service` LowCardinality(String),
    `owner` LowCardinality(String),
    `pathway_category` LowCardinality(String),
    `ingestion_layer` LowCardinality(String),
    `stage_origin` LowCardinality(String),
    `output_state` LowCardinality(String),
    `evidence_basis` LowCardinality(String),
    `confidence_band` LowCardinality(String),
    `degradation_state` LowCardinality(String),
    `export_eligibility` LowCardinality(String),
    `calls` SimpleAggregateFunction(sum, Int64),
    `cost_usd` SimpleAggregateFunction(sum, Decimal(38, 18)),
    `energy_wh` SimpleAggregateFunction(sum, Decimal(38, 18)),
    `carbon_gco2e` SimpleAggregateFunction(sum, Decimal(38, 18)),
    `input_tokens` SimpleAggregateFunction(sum, Int64),
    `output_tokens` SimpleAggregateFunction(sum, Int64),
    `cached_input_tokens` SimpleAggregateFunction(sum, Int64),
    `cache_write_tokens` SimpleAggregateFunction(sum, Int64),
    `reasoning_tokens` SimpleAggregateFunction(sum, Int64),
    `unpriced_calls` SimpleAggregateFunction(sum, Int64),
    `energy_unknown_calls` SimpleAggregateFunction(sum, Int64),
    `carbon_unknown_calls` SimpleAggregateFunction(sum, Int64),
    `input_tokens_unknown_calls` SimpleAggregateFunction(sum, Int64),
    `output_tokens_unknown_calls` SimpleAggregateFunction(sum, Int64),
    `people` SimpleAggregateFunction(sumMap, Map(FixedString(16), Int64))
)
ENGINE = ReplicatedAggregatingMergeTree('/clickhouse/tables/{shard}/{database}/usage_15m', '{replica}')
ORDER BY (tenant_id, bucket, provider, served_model, service, owner, pathway_category, ingestion_layer, stage_origin, output_state, evidence_basis, confidence_band, degradation_state, export_eligibility)
SETTINGS replicated_deduplication_window = 10000, replicated_deduplication_window_seconds = 604800;

CREATE TABLE IF NOT EXISTS usage_15m ON CLUSTER attribution AS usage_15m_local
ENGINE = Distributed(attribution, currentDatabase(), usage_15m_local, cityHash64(tenant_id));

CREATE TABLE IF NOT EXISTS admission_keys_local ON CLUSTER attribution
(
    `key_hash` FixedString(16),
    `fingerprint` FixedString(8),
    `flags` UInt8,
    `admitted_at` DateTime64(3, 'UTC')
)
ENGINE = ReplicatedMergeTree('/clickhouse/tables/{shard}/{database}/admission_keys', '{replica}')
PARTITION BY toStartOfInterval(admitted_at, toIntervalHour(6))
ORDER BY key_hash
TTL toDateTime(admitted_at) + toIntervalHour(25)
SETTINGS replicated_deduplication_window = 10000, replicated_deduplication_window_seconds = 604800, ttl_only_drop_parts = 1, index_granularity = 256;

CREATE TABLE IF NOT EXISTS admission_keys ON CLUSTER attribution AS admission_keys_local
ENGINE = Distributed(attribution, currentDatabase(), admission_keys_local, cityHash64(key_hash));

CREATE TABLE IF NOT EXISTS quarantined_local ON CLUSTER attribution
(
    `tenant_id` LowCardinality(String),
    `id` FixedString(16),
    `stage` LowCardinality(String),
    `reason` LowCardinality(String),
    `quarantined_at` DateTime64(3, 'UTC')
)
ENGINE = ReplicatedMergeTree('/clickhouse/tables/{shard}/{database}/quarantined', '{replica}')
ORDER BY (tenant_id, id)
SETTINGS replicated_deduplication_window = 10000, replicated_deduplication_window_seconds = 604800;

CREATE TABLE IF NOT EXISTS quarantined ON CLUSTER attribution AS quarantined_local
ENGINE = Distributed(attribution, currentDatabase(), quarantined_local, cityHash64(tenant_id));

CREATE TABLE IF NOT EXISTS observations_local ON CLUSTER attribution
(
    `tenant_id` LowCardinality(String),
    `id` FixedString(16),
    `event_id` UUID,
    `type` LowCardinality(String),
    `source` LowCardinality(String),
    `occurred_at` DateTime64(3, 'UTC'),
    `received_at` DateTime64(3, 'UTC'),
    `principal` LowCardinality(String),
    `trace_id` String,
    `data` String,
    `source_log` UInt32,
    `source_sequence` UInt64,
    `source_index` UInt32,
    INDEX event_id_filter event_id TYPE bloom_filter(0.01) GRANULARITY 1
)
ENGINE = ReplicatedMergeTree('/clickhouse/tables/{shard}/{database}/observations', '{replica}')
PARTITION BY toYYYYMM(received_at)
ORDER BY (tenant_id, source, occurred_at, event_id)
TTL toDateTime(received_at) + toIntervalDay(30)
SETTINGS replicated_deduplication_window = 10000, replicated_deduplication_window_seconds = 604800;

CREATE TABLE IF NOT EXISTS observations ON CLUSTER attribution AS observations_local
ENGINE = Distributed(attribution, currentDatabase(), observations_local, cityHash64(tenant_id));

CREATE TABLE IF NOT EXISTS allocation_weights_local ON CLUSTER attribution
(
    `tenant_id` LowCardinality(String),
    `as_of` DateTime64(3, 'UTC'),
    `service` String,
    `owner` String,
    `weight` Decimal(38, 18),
    `is_shown` Bool
)
ENGINE = ReplicatedMergeTree('/clickhouse/tables/{shard}/{database}/allocation_weights', '{replica}')
ORDER BY (tenant_id, as_of, service, owner)
SETTINGS replicated_deduplication_window = 10000, replicated_deduplication_window_seconds = 604800;

CREATE TABLE IF NOT EXISTS allocation_weights ON CLUSTER attribution AS allocation_weights_local
ENGINE = Distributed(attribution, currentDatabase(), allocation_weights_local, cityHash64(tenant_id));

CREATE TABLE IF NOT EXISTS report_rows_local ON CLUSTER attribution
(
    `tenant_id` LowCardinality(String),
    `answer` FixedString(16),
    `position` UInt64,
    `row` String,
    `staged_at` DateTime('UTC') DEFAULT now()
)
ENGINE = ReplicatedMergeTree('/clickhouse/tables/{shard}/{database}/report_rows', '{replica}')
PARTITION BY toStartOfHour(staged_at)
ORDER BY (tenant_id, answer, position)
TTL staged_at + toIntervalHour(6)
SETTINGS ttl_only_drop_parts = 1, index_granularity = 1024;

CREATE TABLE IF NOT EXISTS report_rows ON CLUSTER attribution AS report_rows_local
ENGINE = Distributed(attribution, currentDatabase(), report_rows_local, cityHash64(tenant_id));

CREATE TABLE IF NOT EXISTS export_groups_local ON CLUSTER attribution
(
    `job_id` String,
    `staging` LowCardinality(String),
    `month` Date,
    `charge_start` Date,
    `charge_end` Date,
    `provider` LowCardinality(String),
    `owner` LowCardinality(String),
    `service` LowCardinality(String),
    `served_model` LowCardinality(String),
    `requested_model` LowCardinality(String),
    `region` LowCardinality(String),
    `ingestion_layer` LowCardinality(String),
    `pathway_category` LowCardinality(String),
    `output_state` LowCardinality(String),
    `stage_origin` LowCardinality(String),
    `cost_basis` LowCardinality(String),
    `tag_0` LowCardinality(String),
    `tag_1` LowCardinality(String),
    `tag_2` LowCardinality(String),
    `tag_3` LowCardinality(String),
    `tag_4` LowCardinality(String),
    `tag_5` LowCardinality(String),
    `tag_6` LowCardinality(String),
    `tag_7` LowCardinality(String),
    `meter` UInt8,
    `price` LowCardinality(String),
    `unit_price` Decimal(38, 18),
    `cost` Decimal(38, 18),
    `tokens` UInt64,
    `invocations` UInt64,
    `input_tokens` UInt64,
    `input_counted` UInt64,
    `output_tokens` UInt64,
    `output_counted` UInt64,
    `energy_wh` Decimal(38, 18),
    `energy_known` UInt64,
    `energy_estimated` UInt64,
    `carbon_gco2e` Decimal(38, 18),
    `carbon_known` UInt64,
    `has_calls` Bool,
    `confidence` Decimal(5, 4),
    `people_count` UInt64,
    `persons` AggregateFunction(uniqExact, UInt64),
    `calls_cost` Decimal(38, 18),
    `is_thin` Bool,
    `key` UInt64,
    `staged_at` DateTime DEFAULT now()
)
ENGINE = ReplicatedMergeTree('/clickhouse/tables/{shard}/{database}/export_groups', '{replica}')
PARTITION BY job_id
ORDER BY (staging, charge_start)
TTL staged_at + toIntervalDay(3)
SETTINGS ttl_only_drop_parts = 1;

CREATE TABLE IF NOT EXISTS export_groups ON CLUSTER attribution AS export_groups_local
ENGINE = Distributed(attribution, currentDatabase(), export_groups_local, cityHash64(job_id));

CREATE TABLE IF NOT EXISTS export_folds_local ON CLUSTER attribution
(
    `job_id` String,
    `fold` LowCardinality(String),
    `month` Date,
    `charge_start` Date,
    `provider` LowCardinality(String),
    `owner` LowCardinality(String),
    `service` LowCardinality(String),
    `served_model` LowCardinality(String),
    `requested_model` LowCardinality(String),
    `region` LowCardinality(String),
    `ingestion_layer` LowCardinality(String),
    `pathway_category` LowCardinality(String),
    `output_state` LowCardinality(String),
    `stage_origin` LowCardinality(String),
    `cost_basis` LowCardinality(String),
    `tag_0` LowCardinality(String),
    `tag_1` LowCardinality(String),
    `tag_2` LowCardinality(String),
    `tag_3` LowCardinality(String),
    `tag_4` LowCardinality(String),
    `tag_5` LowCardinality(String),
    `tag_6` LowCardinality(String),
    `tag_7` LowCardinality(String),
    `price` LowCardinality(String),
    `kept` UInt8,
    `key` UInt64,
    `folded_at` DateTime DEFAULT now()
)
ENGINE = ReplicatedMergeTree('/clickhouse/tables/{shard}/{database}/export_folds', '{replica}')
PARTITION BY job_id
ORDER BY (fold, key)
TTL folded_at + toIntervalDay(3)
SETTINGS ttl_only_drop_parts = 1;

CREATE TABLE IF NOT EXISTS export_folds ON CLUSTER attribution AS export_folds_local
ENGINE = Distributed(attribution, currentDatabase(), export_folds_local, cityHash64(job_id));

CREATE TABLE IF NOT EXISTS event_log_local ON CLUSTER attribution
(
    `tenant_id` LowCardinality(String),
    `type` LowCardinality(String),
    `event_id` String,
    `created_at` DateTime64(3, 'UTC'),
    `envelope` String,
    `source_log` UInt32,
    `source_sequence` UInt64,
    INDEX event_id_filter event_id TYPE bloom_filter(0.01) GRANULARITY 1
)
ENGINE = ReplicatedMergeTree('/clickhouse/tables/{shard}/{database}/event_log', '{replica}')
PARTITION BY toYYYYMM(created_at)
ORDER BY (tenant_id, source_log, source_sequence)
TTL toDateTime(created_at) + toIntervalDay(90)
SETTINGS replicated_deduplication_window = 10000, replicated_deduplication_window_seconds = 604800;

CREATE TABLE IF NOT EXISTS event_log ON CLUSTER attribution AS event_log_local
ENGINE = Distributed(attribution, currentDatabase(), event_log_local, cityHash64(tenant_id));

CREATE TABLE IF NOT EXISTS webhook_attempts_local ON CLUSTER attribution
(
    `tenant_id` LowCardinality(String),
    `endpoint_id` LowCardinality(String),
    `delivery_id` String,
    `event_id` String,
    `event_type` LowCardinality(String),
    `event_sequence` UInt64,
    `attempt` UInt16,
    `attempted_at` DateTime64(3, 'UTC'),
    `latency_ms` UInt32,
    `response_status` UInt16,
    `outcome` LowCardinality(String),
    `reason` LowCardinality(String),
    `next_attempt_at` DateTime64(3, 'UTC'),
    `is_replayed` UInt8,
    `source_log` UInt32,
    `source_sequence` UInt64,
    `source_index` UInt32,
    INDEX event_id_filter event_id TYPE bloom_filter(0.01) GRANULARITY 1
)
ENGINE = ReplicatedMergeTree('/clickhouse/tables/{shard}/{database}/webhook_attempts', '{replica}')
PARTITION BY toYYYYMM(attempted_at)
ORDER BY (tenant_id, endpoint_id, source_log, source_sequence, source_index)
TTL toDateTime(attempted_at) + toIntervalDay(400)
SETTINGS replicated_deduplication_window = 10000, replicated_deduplication_window_seconds = 604800, ttl_only_drop_parts = 1;

CREATE TABLE IF NOT EXISTS webhook_attempts ON CLUSTER attribution AS webhook_attempts_local
ENGINE = Distributed(attribution, currentDatabase(), webhook_attempts_local, cityHash64(tenant_id));

CREATE TABLE IF NOT EXISTS audit_log_local ON CLUSTER attribution
(
    `tenant_id` LowCardinality(String),
    `sequence` UInt64,
    `hash` FixedString(32),
    `created_at` DateTime64(3, 'UTC'),
    `actor` String,
    `action` LowCardinality(String),
    `target` String,
    `outcome` LowCardinality(String),
    `error_code` LowCardinality(String),
    `trace_id` String,
    `source_address` String,
    `changes` String,
    `repeats` UInt32
)
ENGINE = ReplicatedMergeTree('/clickhouse/tables/{shard}/{database}/audit_log', '{replica}')
PARTITION BY toYYYYMM(created_at)
ORDER BY (tenant_id, sequence)
TTL toDateTime(created_at) + toIntervalDay(400)
SETTINGS replicated_deduplication_window = 10000, replicated_deduplication_window_seconds = 604800, ttl_only_drop_parts = 1;

CREATE TABLE IF NOT EXISTS audit_log ON CLUSTER attribution AS audit_log_local
ENGINE = Distributed(attribution, currentDatabase(), audit_log_local, cityHash64(tenant_id));

CREATE MATERIALIZED VIEW IF NOT EXISTS usage_15m_of_attributions ON CLUSTER attribution TO usage_15m_local
AS SELECT
    tenant_id,
    toDateTime(toStartOfFifteenMinutes(event_time), 'UTC') AS bucket,
    provider,
    served_model,
    service,
    owner,
    pathway_category,
    ingestion_layer,
    stage_origin,
    output_state,
    evidence_basis,
    confidence_band,
    degradation_state,
    export_eligibility,
    sum(toInt64(1)) AS calls,
    sum(attributions.cost_usd) AS cost_usd,
    sum(attributions.energy_wh) AS energy_wh,
    sum(attributions.carbon_gco2e) AS carbon_gco2e,
    sum(toInt64(ifNull(attributions.input_tokens, 0))) AS input_tokens,
    sum(toInt64(ifNull(attributions.output_tokens, 0))) AS output_tokens,
    sum(toInt64(ifNull(attributions.cached_input_tokens, 0))) AS cached_input_tokens,
    sum(toInt64(ifNull(attributions.cache_write_tokens, 0))) AS cache_write_tokens,
    sum(toInt64(ifNull(attributions.reasoning_tokens, 0))) AS reasoning_tokens,
    sum(toInt64(attributions.cost_basis = 'unpriced')) AS unpriced_calls,
    sum(toInt64(attributions.energy_basis = 'unknown')) AS energy_unknown_calls,
    sum(toInt64(attributions.carbon_basis = 'unknown')) AS carbon_unknown_calls,
    sum(toInt64(isNull(attributions.input_tokens))) AS input_tokens_unknown_calls,
    sum(toInt64(isNull(attributions.output_tokens))) AS output_tokens_unknown_calls,
    sumMap(if(identity_hash = toFixedString('', 16), CAST(map(), 'Map(FixedString(16), Int64)'), CAST(map(identity_hash, 1), 'Map(FixedString(16), Int64)'))) AS people
FROM attributions_local AS attributions
GROUP BY
    tenant_id,
    bucket,
    provider,
    served_model,
    service,
    owner,
    pathway_category,
    ingestion_layer,
    stage_origin,
    output_state,
    evidence_basis,
    confidence_band,
    degradation_state,
    export_eligibility;

CREATE MATERIALIZED VIEW IF NOT EXISTS usage_15m_of_closed ON CLUSTER attribution TO usage_15m_local
AS SELECT
    tenant_id,
    toDateTime(toStartOfFifteenMinutes(event_time), 'UTC') AS bucket,
    provider,
    served_model,
    service,
    owner,
    pathway_category,
    ingestion_layer,
    stage_origin,
    output_state,
    evidence_basis,
    confidence_band,
    degradation_state,
    export_eligibility,
    sum(-toInt64(1)) AS calls,
    sum(-closed.cost_usd) AS cost_usd,
    sum(-closed.energy_wh) AS energy_wh,
    sum(-closed.carbon_gco2e) AS carbon_gco2e,
    sum(-toInt64(ifNull(closed.input_tokens, 0))) AS input_tokens,
    sum(-toInt64(ifNull(closed.output_tokens, 0))) AS output_tokens,
    sum(-toInt64(ifNull(closed.cached_input_tokens, 0))) AS cached_input_tokens,
    sum(-toInt64(ifNull(closed.cache_write_tokens, 0))) AS cache_write_tokens,
    sum(-toInt64(ifNull(closed.reasoning_tokens, 0))) AS reasoning_tokens,
    sum(-toInt64(closed.cost_basis = 'unpriced')) AS unpriced_calls,
    sum(-toInt64(closed.energy_basis = 'unknown')) AS energy_unknown_calls,
    sum(-toInt64(closed.carbon_basis = 'unknown')) AS carbon_unknown_calls,
    sum(-toInt64(isNull(closed.input_tokens))) AS input_tokens_unknown_calls,
    sum(-toInt64(isNull(closed.output_tokens))) AS output_tokens_unknown_calls,
    sumMap(if(identity_hash = toFixedString('', 16), CAST(map(), 'Map(FixedString(16), Int64)'), CAST(map(identity_hash, -1), 'Map(FixedString(16), Int64)'))) AS people
FROM closed_local AS closed
GROUP BY
    tenant_id,
    bucket,
    provider,
    served_model,
    service,
    owner,
    pathway_category,
    ingestion_layer,
    stage_origin,
    output_state,
    evidence_basis,
    confidence_band,
    degradation_state,
    export_eligibility;

ALTER TABLE attributions_local ON CLUSTER attribution
    (ADD COLUMN IF NOT EXISTS `cached_audio_input_tokens` Nullable(UInt64));

ALTER TABLE attributions ON CLUSTER attribution
    (ADD COLUMN IF NOT EXISTS `cached_audio_input_tokens` Nullable(UInt64));

ALTER TABLE attributions_local ON CLUSTER attribution
    (ADD COLUMN IF NOT EXISTS `cached_image_input_tokens` Nullable(UInt64));

ALTER TABLE attributions ON CLUSTER attribution
    (ADD COLUMN IF NOT EXISTS `cached_image_input_tokens` Nullable(UInt64));

ALTER TABLE attributions_local ON CLUSTER attribution
    (ADD COLUMN IF NOT EXISTS `billed_units` Map(LowCardinality(String), String));

ALTER TABLE attributions ON CLUSTER attribution
    (ADD COLUMN IF NOT EXISTS `billed_units` Map(LowCardinality(String), String));

ALTER TABLE attributions_local ON CLUSTER attribution
    (ADD COLUMN IF NOT EXISTS `alternative_input_tokens` Nullable(UInt64));

ALTER TABLE attributions ON CLUSTER attribution
    (ADD COLUMN IF NOT EXISTS `alternative_input_tokens` Nullable(UInt64));

ALTER TABLE attributions_local ON CLUSTER attribution
    (ADD COLUMN IF NOT EXISTS `alternative_output_tokens` Nullable(UInt64));

ALTER TABLE attributions ON CLUSTER attribution
    (ADD COLUMN IF NOT EXISTS `alternative_output_tokens` Nullable(UInt64));

ALTER TABLE attributions_local ON CLUSTER attribution
    (ADD COLUMN IF NOT EXISTS `speed` LowCardinality(String));

ALTER TABLE attributions ON CLUSTER attribution
    (ADD COLUMN IF NOT EXISTS `speed` LowCardinality(String));

ALTER TABLE attributions_local ON CLUSTER attribution
    (ADD COLUMN IF NOT EXISTS `request_id` String);

ALTER TABLE attributions ON CLUSTER attribution
    (ADD COLUMN IF NOT EXISTS `request_id` String);

ALTER TABLE attributions_local ON CLUSTER attribution
    (ADD COLUMN IF NOT EXISTS `operation_id` String);

ALTER TABLE attributions ON CLUSTER attribution
    (ADD COLUMN IF NOT EXISTS `operation_id` String);

ALTER TABLE attributions_local ON CLUSTER attribution
    (ADD COLUMN IF NOT EXISTS `attempt` Nullable(UInt64));

ALTER TABLE attributions ON CLUSTER attribution
    (ADD COLUMN IF NOT EXISTS `attempt` Nullable(UInt64));

ALTER TABLE attributions_local ON CLUSTER attribution
    (ADD COLUMN IF NOT EXISTS `assumptions` LowCardinality(String));

ALTER TABLE attributions ON CLUSTER attribution
    (ADD COLUMN IF NOT EXISTS `assumptions` LowCardinality(String));

ALTER TABLE attributions_local ON CLUSTER attribution
    (ADD COLUMN IF NOT EXISTS `parent_span_id` String);

ALTER TABLE attributions ON CLUSTER attribution
    (ADD COLUMN IF NOT EXISTS `parent_span_id` String);

ALTER TABLE attributions_local ON CLUSTER attribution
    (ADD COLUMN IF NOT EXISTS `instrumentation` LowCardinality(String));

ALTER TABLE attributions ON CLUSTER attribution
    (ADD COLUMN IF NOT EXISTS `instrumentation` LowCardinality(String));

ALTER TABLE attributions_local ON CLUSTER attribution
    (ADD COLUMN IF NOT EXISTS `cost_bound` LowCardinality(String));

ALTER TABLE attributions ON CLUSTER attribution
    (ADD COLUMN IF NOT EXISTS `cost_bound` LowCardinality(String));

ALTER TABLE attributions_by_materialized_at_local ON CLUSTER attribution
    (ADD COLUMN IF NOT EXISTS `cost_bound` LowCardinality(String));

ALTER TABLE attributions_by_materialized_at ON CLUSTER attribution
    (ADD COLUMN IF NOT EXISTS `cost_bound` LowCardinality(String));

ALTER TABLE attributions_by_cost_usd_local ON CLUSTER attribution
    (ADD COLUMN IF NOT EXISTS `cost_bound` LowCardinality(String));

ALTER TABLE attributions_by_cost_usd ON CLUSTER attribution
    (ADD COLUMN IF NOT EXISTS `cost_bound` LowCardinality(String));

ALTER TABLE attributions_by_energy_wh_local ON CLUSTER attribution
    (ADD COLUMN IF NOT EXISTS `cost_bound` LowCardinality(String));

ALTER TABLE attributions_by_energy_wh ON CLUSTER attribution
    (ADD COLUMN IF NOT EXISTS `cost_bound` LowCardinality(String));

ALTER TABLE attributions_by_carbon_gco2e_local ON CLUSTER attribution
    (ADD COLUMN IF NOT EXISTS `cost_bound` LowCardinality(String));

ALTER TABLE attributions_by_carbon_gco2e ON CLUSTER attribution
    (ADD COLUMN IF NOT EXISTS `cost_bound` LowCardinality(String));

ALTER TABLE attributions_by_confidence_local ON CLUSTER attribution
    (ADD COLUMN IF NOT EXISTS `cost_bound` LowCardinality(String));

ALTER TABLE attributions_by_confidence ON CLUSTER attribution
    (ADD COLUMN IF NOT EXISTS `cost_bound` LowCardinality(String));

ALTER TABLE attributions_by_provider_local ON CLUSTER attribution
    (ADD COLUMN IF NOT EXISTS `cost_bound` LowCardinality(String));

ALTER TABLE attributions_by_provider ON CLUSTER attribution
    (ADD COLUMN IF NOT EXISTS `cost_bound` LowCardinality(String));

ALTER TABLE attributions_by_served_model_local ON CLUSTER attribution
    (ADD COLUMN IF NOT EXISTS `cost_bound` LowCardinality(String));

ALTER TABLE attributions_by_served_model ON CLUSTER attribution
    (ADD COLUMN IF NOT EXISTS `cost_bound` LowCardinality(String));

ALTER TABLE attributions_by_service_local ON CLUSTER attribution
    (ADD COLUMN IF NOT EXISTS `cost_bound` LowCardinality(String));

ALTER TABLE attributions_by_service ON CLUSTER attribution
    (ADD COLUMN IF NOT EXISTS `cost_bound` LowCardinality(String));

ALTER TABLE attributions_by_owner_local ON CLUSTER attribution
    (ADD COLUMN IF NOT EXISTS `cost_bound` LowCardinality(String));

ALTER TABLE attributions_by_owner ON CLUSTER attribution
    (ADD COLUMN IF NOT EXISTS `cost_bound` LowCardinality(String));

ALTER TABLE attributions_by_labels_local ON CLUSTER attribution
    (ADD COLUMN IF NOT EXISTS `cost_bound` LowCardinality(String));

ALTER TABLE attributions_by_labels ON CLUSTER attribution
    (ADD COLUMN IF NOT EXISTS `cost_bound` LowCardinality(String));

ALTER TABLE attributions_local ON CLUSTER attribution
    (MODIFY COLUMN `report_flags` UInt16 MATERIALIZED toUInt16((((((((((((((cost_basis = 'unpriced') * 1) + ((energy_basis = 'unknown') * 2)) + ((carbon_basis = 'unknown') * 4)) + ((confidence_band = 'chargeback_ready') * 8)) + ((confidence_band = 'provisional') * 16)) + ((output_state = 'unresolved') * 32)) + ((owner = 'unassigned') * 64)) + ((export_eligibility = 'below_floor') * 128)) + ((export_eligibility = 'advisory') * 256)) + ((export_eligibility = 'implausible_cost') * 512)) + ((export_eligibility = 'ambiguous_usage') * 1024)) + ((cost_bound = 'upper') * 2048)) + ((energy_basis = 'class_estimate') * 4096)));

ALTER TABLE attributions ON CLUSTER attribution
    (MODIFY COLUMN `report_flags` UInt16 MATERIALIZED toUInt16((((((((((((((cost_basis = 'unpriced') * 1) + ((energy_basis = 'unknown') * 2)) + ((carbon_basis = 'unknown') * 4)) + ((confidence_band = 'chargeback_ready') * 8)) + ((confidence_band = 'provisional') * 16)) + ((output_state = 'unresolved') * 32)) + ((owner = 'unassigned') * 64)) + ((export_eligibility = 'below_floor') * 128)) + ((export_eligibility = 'advisory') * 256)) + ((export_eligibility = 'implausible_cost') * 512)) + ((export_eligibility = 'ambiguous_usage') * 1024)) + ((cost_bound = 'upper') * 2048)) + ((energy_basis = 'class_estimate') * 4096)));

ALTER TABLE attributions_local ON CLUSTER attribution
    (MODIFY COLUMN `report_flags` UInt16 MATERIALIZED toUInt16((((((((((((((cost_basis = 'unpriced') * 1) + ((energy_basis = 'unknown') * 2)) + ((carbon_basis = 'unknown') * 4)) + ((confidence_band = 'chargeback_ready') * 8)) + ((confidence_band = 'provisional') * 16)) + ((output_state = 'unresolved') * 32)) + ((owner = 'unassigned') * 64)) + ((export_eligibility = 'below_floor') * 128)) + ((export_eligibility = 'advisory') * 256)) + ((export_eligibility = 'implausible_cost') * 512)) + ((export_eligibility = 'ambiguous_usage') * 1024)) + ((cost_bound = 'upper') * 2048)) + ((energy_basis = 'class_estimate') * 4096)));

ALTER TABLE attributions ON CLUSTER attribution
    (MODIFY COLUMN `report_flags` UInt16 MATERIALIZED toUInt16((((((((((((((cost_basis = 'unpriced') * 1) + ((energy_basis = 'unknown') * 2)) + ((carbon_basis = 'unknown') * 4)) + ((confidence_band = 'chargeback_ready') * 8)) + ((confidence_band = 'provisional') * 16)) + ((output_state = 'unresolved') * 32)) + ((owner = 'unassigned') * 64)) + ((export_eligibility = 'below_floor') * 128)) + ((export_eligibility = 'advisory') * 256)) + ((export_eligibility = 'implausible_cost') * 512)) + ((export_eligibility = 'ambiguous_usage') * 1024)) + ((cost_bound = 'upper') * 2048)) + ((energy_basis = 'class_estimate') * 4096)));

ALTER TABLE export_groups_local ON CLUSTER attribution
    (ADD COLUMN IF NOT EXISTS `energy_estimated` UInt64);

ALTER TABLE export_groups ON CLUSTER attribution
    (ADD COLUMN IF NOT EXISTS `energy_estimated` UInt64);

ALTER TABLE attributions_local ON CLUSTER attribution
    (ADD COLUMN IF NOT EXISTS `shown_labels` LowCardinality(String) MATERIALIZED concat('[', '"', toString(pathway_category), '"', ',', '"', toString(output_state), '"', ',', '"', toString(stage_origin), '"', ',', '"', toString(confidence_band), '"', ',', '"', toString(evidence_basis), '"', ',', '"', toString(degradation_state), '"', ',', '"', toString(freshness), '"', ',', '"', toString(export_eligibility), '"', ',', '"', toString(contested), '"', ',', '"', toString(cost_basis), '"', ',', '"', toString(cost_bound), '"', ',', '"', toString(usage_basis), '"', ',', '"', toString(outcome), '"', ',', '"', toString(energy_basis), '"', ',', '"', toString(carbon_basis), '"', ']'));

ALTER TABLE attributions ON CLUSTER attribution
    (ADD COLUMN IF NOT EXISTS `shown_labels` LowCardinality(String) MATERIALIZED concat('[', '"', toString(pathway_category), '"', ',', '"', toString(output_state), '"', ',', '"', toString(stage_origin), '"', ',', '"', toString(confidence_band), '"', ',', '"', toString(evidence_basis), '"', ',', '"', toString(degradation_state), '"', ',', '"', toString(freshness), '"', ',', '"', toString(export_eligibility), '"', ',', '"', toString(contested), '"', ',', '"', toString(cost_basis), '"', ',', '"', toString(cost_bound), '"', ',', '"', toString(usage_basis), '"', ',', '"', toString(outcome), '"', ',', '"', toString(energy_basis), '"', ',', '"', toString(carbon_basis), '"', ']'));

ALTER TABLE attributions_local ON CLUSTER attribution
    (ADD COLUMN IF NOT EXISTS `shown_fields` String MATERIALIZED concat('[', '"', toString(toUnixTimestamp64Milli(event_time)), '"', ',', '"', toString(toUnixTimestamp64Milli(valid_from)), '"', ',', toJSONString(toString(provider)), ',', toJSONString(toString(requested_model)), ',', toJSONString(toString(served_model)), ',', toJSONString(toString(service)), ',', toJSONString(toString(owner)), ',', '"', toString(cost_usd), '"', ',', '"', toString(energy_wh), '"', ',', '"', toString(carbon_gco2e), '"', ',', '"', toString(confidence), '"', ',', toJSONString(toString(model_version)), ',', ifNull(concat('"', toString(input_tokens), '"'), 'null'), ',', ifNull(concat('"', toString(output_tokens), '"'), 'null'), ',', toJSONString(toString(trace_id)), ',', toJSONString(CAST(dimensions, 'Array(String)')), ']') CODEC(ZSTD(1)));

ALTER TABLE attributions ON CLUSTER attribution
    (ADD COLUMN IF NOT EXISTS `shown_fields` String MATERIALIZED concat('[', '"', toString(toUnixTimestamp64Milli(event_time)), '"', ',', '"', toString(toUnixTimestamp64Milli(valid_from)), '"', ',', toJSONString(toString(provider)), ',', toJSONString(toString(requested_model)), ',', toJSONString(toString(served_model)), ',', toJSONString(toString(service)), ',', toJSONString(toString(owner)), ',', '"', toString(cost_usd), '"', ',', '"', toString(energy_wh), '"', ',', '"', toString(carbon_gco2e), '"', ',', '"', toString(confidence), '"', ',', toJSONString(toString(model_version)), ',', ifNull(concat('"', toString(input_tokens), '"'), 'null'), ',', ifNull(concat('"', toString(output_tokens), '"'), 'null'), ',', toJSONString(toString(trace_id)), ',', toJSONString(CAST(dimensions, 'Array(String)')), ']'));

ALTER TABLE attributions_local ON CLUSTER attribution
    (ADD COLUMN IF NOT EXISTS `explained_fields` String MATERIALIZED concat('[', '"', toString(attribution_confidence), '"', ',', ifNull(concat('"', toString(cached_input_tokens), '"'), 'null'), ',', ifNull(concat('"', toString(cached_audio_input_tokens), '"'), 'null'), ',', ifNull(concat('"', toString(cached_image_input_tokens), '"'), 'null'), ',', ifNull(concat('"', toString(cache_write_tokens), '"'), 'null'), ',', ifNull(concat('"', toString(cache_write_ttl_seconds), '"'), 'null'), ',', ifNull(concat('"', toString(cache_write_5m_tokens), '"'), 'null'), ',', ifNull(concat('"', toString(cache_write_1h_tokens), '"'), 'null'), ',', ifNull(concat('"', toString(reasoning_tokens), '"'), 'null'), ',', ifNull(concat('"', toString(audio_input_tokens), '"'), 'null'), ',', ifNull(concat('"', toString(audio_output_tokens), '"'), 'null'), ',', ifNull(concat('"', toString(image_input_tokens), '"'), 'null'), ',', ifNull(concat('"', toString(image_output_tokens), '"'), 'null'), ',', ifNull(concat('"', toString(web_search_calls), '"'), 'null'), ',', ifNull(concat('"', toString(file_search_calls), '"'), 'null'), ',', ifNull(concat('"', toString(code_execution_calls), '"'), 'null'), ',', toJSONString(CAST(billed_units, 'Map(String, String)')), ',', ifNull(concat('"', toString(alternative_input_tokens), '"'), 'null'), ',', ifNull(concat('"', toString(alternative_output_tokens), '"'), 'null'), ',', ifNull(concat('"', toString(latency_ms), '"'), 'null'), ',', ifNull(concat('"', toString(estimated_cost_usd), '"'), 'null'), ',', toJSONString(toString(service_tier)), ',', toJSONString(toString(speed)), ',', toString(served_from_cache), ',', toJSONString(toString(region)), ',', toJSONString(toString(ingestion_layer)), ',', toJSONString(toString(principal)), ',', toJSONString(toString(intake)), ',', toJSONString(toString(span_id)), ',', toJSONString(toString(instrumentation)), ',', toJSONString(toString(response_id)), ',', toJSONString(toString(request_id)), ',', toJSONString(toString(operation_id)), ',', ifNull(concat('"', toString(attempt), '"'), 'null'), ',', toJSONString(toString(assumptions)), ',', toJSONString(toString(seen_by)), ',', toJSONString(CAST(tags, 'Map(String, String)')), ']') CODEC(ZSTD(1)));

ALTER TABLE attributions ON CLUSTER attribution
    (ADD COLUMN IF NOT EXISTS `explained_fields` String MATERIALIZED concat('[', '"', toString(attribution_confidence), '"', ',', ifNull(concat('"', toString(cached_input_tokens), '"'), 'null'), ',', ifNull(concat('"', toString(cached_audio_input_tokens), '"'), 'null'), ',', ifNull(concat('"', toString(cached_image_input_tokens), '"'), 'null'), ',', ifNull(concat('"', toString(cache_write_tokens), '"'), 'null'), ',', ifNull(concat('"', toString(cache_write_ttl_seconds), '"'), 'null'), ',', ifNull(concat('"', toString(cache_write_5m_tokens), '"'), 'null'), ',', ifNull(concat('"', toString(cache_write_1h_tokens), '"'), 'null'), ',', ifNull(concat('"', toString(reasoning_tokens), '"'), 'null'), ',', ifNull(concat('"', toString(audio_input_tokens), '"'), 'null'), ',', ifNull(concat('"', toString(audio_output_tokens), '"'), 'null'), ',', ifNull(concat('"', toString(image_input_tokens), '"'), 'null'), ',', ifNull(concat('"', toString(image_output_tokens), '"'), 'null'), ',', ifNull(concat('"', toString(web_search_calls), '"'), 'null'), ',', ifNull(concat('"', toString(file_search_calls), '"'), 'null'), ',', ifNull(concat('"', toString(code_execution_calls), '"'), 'null'), ',', toJSONString(CAST(billed_units, 'Map(String, String)')), ',', ifNull(concat('"', toString(alternative_input_tokens), '"'), 'null'), ',', ifNull(concat('"', toString(alternative_output_tokens), '"'), 'null'), ',', ifNull(concat('"', toString(latency_ms), '"'), 'null'), ',', ifNull(concat('"', toString(estimated_cost_usd), '"'), 'null'), ',', toJSONString(toString(service_tier)), ',', toJSONString(toString(speed)), ',', toString(served_from_cache), ',', toJSONString(toString(region)), ',', toJSONString(toString(ingestion_layer)), ',', toJSONString(toString(principal)), ',', toJSONString(toString(intake)), ',', toJSONString(toString(span_id)), ',', toJSONString(toString(instrumentation)), ',', toJSONString(toString(response_id)), ',', toJSONString(toString(request_id)), ',', toJSONString(toString(operation_id)), ',', ifNull(concat('"', toString(attempt), '"'), 'null'), ',', toJSONString(toString(assumptions)), ',', toJSONString(toString(seen_by)), ',', toJSONString(CAST(tags, 'Map(String, String)')), ']'));

ALTER TABLE attributions_by_materialized_at_local ON CLUSTER attribution
    (ADD COLUMN IF NOT EXISTS `shown_labels` LowCardinality(String) DEFAULT concat('[', '"', toString(pathway_category), '"', ',', '"', toString(output_state), '"', ',', '"', toString(stage_origin), '"', ',', '"', toString(confidence_band), '"', ',', '"', toString(evidence_basis), '"', ',', '"', toString(degradation_state), '"', ',', '"', toString(freshness), '"', ',', '"', toString(export_eligibility), '"', ',', '"', toString(contested), '"', ',', '"', toString(cost_basis), '"', ',', '"', toString(cost_bound), '"', ',', '"', toString(usage_basis), '"', ',', '"', toString(outcome), '"', ',', '"', toString(energy_basis), '"', ',', '"', toString(carbon_basis), '"', ']'));

ALTER TABLE attributions_by_materialized_at ON CLUSTER attribution
    (ADD COLUMN IF NOT EXISTS `shown_labels` LowCardinality(String) DEFAULT concat('[', '"', toString(pathway_category), '"', ',', '"', toString(output_state), '"', ',', '"', toString(stage_origin), '"', ',', '"', toString(confidence_band), '"', ',', '"', toString(evidence_basis), '"', ',', '"', toString(degradation_state), '"', ',', '"', toString(freshness), '"', ',', '"', toString(export_eligibility), '"', ',', '"', toString(contested), '"', ',', '"', toString(cost_basis), '"', ',', '"', toString(cost_bound), '"', ',', '"', toString(usage_basis), '"', ',', '"', toString(outcome), '"', ',', '"', toString(energy_basis), '"', ',', '"', toString(carbon_basis), '"', ']'));

ALTER TABLE attributions_by_materialized_at_local ON CLUSTER attribution
    (MODIFY COLUMN `trace_id` String CODEC(ZSTD(1)));

ALTER TABLE attributions_by_cost_usd_local ON CLUSTER attribution
    (ADD COLUMN IF NOT EXISTS `shown_labels` LowCardinality(String) DEFAULT concat('[', '"', toString(pathway_category), '"', ',', '"', toString(output_state), '"', ',', '"', toString(stage_origin), '"', ',', '"', toString(confidence_band), '"', ',', '"', toString(evidence_basis), '"', ',', '"', toString(degradation_state), '"', ',', '"', toString(freshness), '"', ',', '"', toString(export_eligibility), '"', ',', '"', toString(contested), '"', ',', '"', toString(cost_basis), '"', ',', '"', toString(cost_bound), '"', ',', '"', toString(usage_basis), '"', ',', '"', toString(outcome), '"', ',', '"', toString(energy_basis), '"', ',', '"', toString(carbon_basis), '"', ']'));

ALTER TABLE attributions_by_cost_usd ON CLUSTER attribution
    (ADD COLUMN IF NOT EXISTS `shown_labels` LowCardinality(String) DEFAULT concat('[', '"', toString(pathway_category), '"', ',', '"', toString(output_state), '"', ',', '"', toString(stage_origin), '"', ',', '"', toString(confidence_band), '"', ',', '"', toString(evidence_basis), '"', ',', '"', toString(degradation_state), '"', ',', '"', toString(freshness), '"', ',', '"', toString(export_eligibility), '"', ',', '"', toString(contested), '"', ',', '"', toString(cost_basis), '"', ',', '"', toString(cost_bound), '"', ',', '"', toString(usage_basis), '"', ',', '"', toString(outcome), '"', ',', '"', toString(energy_basis), '"', ',', '"', toString(carbon_basis), '"', ']'));

ALTER TABLE attributions_by_cost_usd_local ON CLUSTER attribution
    (MODIFY COLUMN `trace_id` String CODEC(ZSTD(1)));

ALTER TABLE attributions_by_energy_wh_local ON CLUSTER attribution
    (ADD COLUMN IF NOT EXISTS `shown_labels` LowCardinality(String) DEFAULT concat('[', '"', toString(pathway_category), '"', ',', '"', toString(output_state), '"', ',', '"', toString(stage_origin), '"', ',', '"', toString(confidence_band), '"', ',', '"', toString(evidence_basis), '"', ',', '"', toString(degradation_state), '"', ',', '"', toString(freshness), '"', ',', '"', toString(export_eligibility), '"', ',', '"', toString(contested), '"', ',', '"', toString(cost_basis), '"', ',', '"', toString(cost_bound), '"', ',', '"', toString(usage_basis), '"', ',', '"', toString(outcome), '"', ',', '"', toString(energy_basis), '"', ',', '"', toString(carbon_basis), '"', ']'));

ALTER TABLE attributions_by_energy_wh ON CLUSTER attribution
    (ADD COLUMN IF NOT EXISTS `shown_labels` LowCardinality(String) DEFAULT concat('[', '"', toString(pathway_category), '"', ',', '"', toString(output_state), '"', ',', '"', toString(stage_origin), '"', ',', '"', toString(confidence_band), '"', ',', '"', toString(evidence_basis), '"', ',', '"', toString(degradation_state), '"', ',', '"', toString(freshness), '"', ',', '"', toString(export_eligibility), '"', ',', '"', toString(contested), '"', ',', '"', toString(cost_basis), '"', ',', '"', toString(cost_bound), '"', ',', '"', toString(usage_basis), '"', ',', '"', toString(outcome), '"', ',', '"', toString(energy_basis), '"', ',', '"', toString(carbon_basis), '"', ']'));

ALTER TABLE attributions_by_energy_wh_local ON CLUSTER attribution
    (MODIFY COLUMN `trace_id` String CODEC(ZSTD(1)));

ALTER TABLE attributions_by_carbon_gco2e_local ON CLUSTER attribution
    (ADD COLUMN IF NOT EXISTS `shown_labels` LowCardinality(String) DEFAULT concat('[', '"', toString(pathway_category), '"', ',', '"', toString(output_state), '"', ',', '"', toString(stage_origin), '"', ',', '"', toString(confidence_band), '"', ',', '"', toString(evidence_basis), '"', ',', '"', toString(degradation_state), '"', ',', '"', toString(freshness), '"', ',', '"', toString(export_eligibility), '"', ',', '"', toString(contested), '"', ',', '"', toString(cost_basis), '"', ',', '"', toString(cost_bound), '"', ',', '"', toString(usage_basis), '"', ',', '"', toString(outcome), '"', ',', '"', toString(energy_basis), '"', ',', '"', toString(carbon_basis), '"', ']'));

ALTER TABLE attributions_by_carbon_gco2e ON CLUSTER attribution
    (ADD COLUMN IF NOT EXISTS `shown_labels` LowCardinality(String) DEFAULT concat('[', '"', toString(pathway_category), '"', ',', '"', toString(output_state), '"', ',', '"', toString(stage_origin), '"', ',', '"', toString(confidence_band), '"', ',', '"', toString(evidence_basis), '"', ',', '"', toString(degradation_state), '"', ',', '"', toString(freshness), '"', ',', '"', toString(export_eligibility), '"', ',', '"', toString(contested), '"', ',', '"', toString(cost_basis), '"', ',', '"', toString(cost_bound), '"', ',', '"', toString(usage_basis), '"', ',', '"', toString(outcome), '"', ',', '"', toString(energy_basis), '"', ',', '"', toString(carbon_basis), '"', ']'));

ALTER TABLE attributions_by_carbon_gco2e_local ON CLUSTER attribution
    (MODIFY COLUMN `trace_id` String CODEC(ZSTD(1)));

ALTER TABLE attributions_by_confidence_local ON CLUSTER attribution
    (ADD COLUMN IF NOT EXISTS `shown_labels` LowCardinality(String) DEFAULT concat('[', '"', toString(pathway_category), '"', ',', '"', toString(output_state), '"', ',', '"', toString(stage_origin), '"', ',', '"', toString(confidence_band), '"', ',', '"', toString(evidence_basis), '"', ',', '"', toString(degradation_state), '"', ',', '"', toString(freshness), '"', ',', '"', toString(export_eligibility), '"', ',', '"', toString(contested), '"', ',', '"', toString(cost_basis), '"', ',', '"', toString(cost_bound), '"', ',', '"', toString(usage_basis), '"', ',', '"', toString(outcome), '"', ',', '"', toString(energy_basis), '"', ',', '"', toString(carbon_basis), '"', ']'));

ALTER TABLE attributions_by_confidence ON CLUSTER attribution
    (ADD COLUMN IF NOT EXISTS `shown_labels` LowCardinality(String) DEFAULT concat('[', '"', toString(pathway_category), '"', ',', '"', toString(output_state), '"', ',', '"', toString(stage_origin), '"', ',', '"', toString(confidence_band), '"', ',', '"', toString(evidence_basis), '"', ',', '"', toString(degradation_state), '"', ',', '"', toString(freshness), '"', ',', '"', toString(export_eligibility), '"', ',', '"', toString(contested), '"', ',', '"', toString(cost_basis), '"', ',', '"', toString(cost_bound), '"', ',', '"', toString(usage_basis), '"', ',', '"', toString(outcome), '"', ',', '"', toString(energy_basis), '"', ',', '"', toString(carbon_basis), '"', ']'));

ALTER TABLE attributions_by_confidence_local ON CLUSTER attribution
    (MODIFY COLUMN `trace_id` String CODEC(ZSTD(1)));

ALTER TABLE attributions_by_provider_local ON CLUSTER attribution
    (ADD COLUMN IF NOT EXISTS `shown_labels` LowCardinality(String) DEFAULT concat('[', '"', toString(pathway_category), '"', ',', '"', toString(output_state), '"', ',', '"', toString(stage_origin), '"', ',', '"', toString(confidence_band), '"', ',', '"', toString(evidence_basis), '"', ',', '"', toString(degradation_state), '"', ',', '"', toString(freshness), '"', ',', '"', toString(export_eligibility), '"', ',', '"', toString(contested), '"', ',', '"', toString(cost_basis), '"', ',', '"', toString(cost_bound), '"', ',', '"', toString(usage_basis), '"', ',', '"', toString(outcome), '"', ',', '"', toString(energy_basis), '"', ',', '"', toString(carbon_basis), '"', ']'));

ALTER TABLE attributions_by_provider ON CLUSTER attribution
    (ADD COLUMN IF NOT EXISTS `shown_labels` LowCardinality(String) DEFAULT concat('[', '"', toString(pathway_category), '"', ',', '"', toString(output_state), '"', ',', '"', toString(stage_origin), '"', ',', '"', toString(confidence_band), '"', ',', '"', toString(evidence_basis), '"', ',', '"', toString(degradation_state), '"', ',', '"', toString(freshness), '"', ',', '"', toString(export_eligibility), '"', ',', '"', toString(contested), '"', ',', '"', toString(cost_basis), '"', ',', '"', toString(cost_bound), '"', ',', '"', toString(usage_basis), '"', ',', '"', toString(outcome), '"', ',', '"', toString(energy_basis), '"', ',', '"', toString(carbon_basis), '"', ']'));

ALTER TABLE attributions_by_provider_local ON CLUSTER attribution
    (MODIFY COLUMN `trace_id` String CODEC(ZSTD(1)));

ALTER TABLE attributions_by_served_model_local ON CLUSTER attribution
    (ADD COLUMN IF NOT EXISTS `shown_labels` LowCardinality(String) DEFAULT concat('[', '"', toString(pathway_category), '"', ',', '"', toString(output_state), '"', ',', '"', toString(stage_origin), '"', ',', '"', toString(confidence_band), '"', ',', '"', toString(evidence_basis), '"', ',', '"', toString(degradation_state), '"', ',', '"', toString(freshness), '"', ',', '"', toString(export_eligibility), '"', ',', '"', toString(contested), '"', ',', '"', toString(cost_basis), '"', ',', '"', toString(cost_bound), '"', ',', '"', toString(usage_basis), '"', ',', '"', toString(outcome), '"', ',', '"', toString(energy_basis), '"', ',', '"', toString(carbon_basis), '"', ']'));

ALTER TABLE attributions_by_served_model ON CLUSTER attribution
    (ADD COLUMN IF NOT EXISTS `shown_labels` LowCardinality(String) DEFAULT concat('[', '"', toString(pathway_category), '"', ',', '"', toString(output_state), '"', ',', '"', toString(stage_origin), '"', ',', '"', toString(confidence_band), '"', ',', '"', toString(evidence_basis), '"', ',', '"', toString(degradation_state), '"', ',', '"', toString(freshness), '"', ',', '"', toString(export_eligibility), '"', ',', '"', toString(contested), '"', ',', '"', toString(cost_basis), '"', ',', '"', toString(cost_bound), '"', ',', '"', toString(usage_basis), '"', ',', '"', toString(outcome), '"', ',', '"', toString(energy_basis), '"', ',', '"', toString(carbon_basis), '"', ']'));

ALTER TABLE attributions_by_served_model_local ON CLUSTER attribution
    (MODIFY COLUMN `trace_id` String CODEC(ZSTD(1)));

ALTER TABLE attributions_by_service_local ON CLUSTER attribution
    (ADD COLUMN IF NOT EXISTS `shown_labels` LowCardinality(String) DEFAULT concat('[', '"', toString(pathway_category), '"', ',', '"', toString(output_state), '"', ',', '"', toString(stage_origin), '"', ',', '"', toString(confidence_band), '"', ',', '"', toString(evidence_basis), '"', ',', '"', toString(degradation_state), '"', ',', '"', toString(freshness), '"', ',', '"', toString(export_eligibility), '"', ',', '"', toString(contested), '"', ',', '"', toString(cost_basis), '"', ',', '"', toString(cost_bound), '"', ',', '"', toString(usage_basis), '"', ',', '"', toString(outcome), '"', ',', '"', toString(energy_basis), '"', ',', '"', toString(carbon_basis), '"', ']'));

ALTER TABLE attributions_by_service ON CLUSTER attribution
    (ADD COLUMN IF NOT EXISTS `shown_labels` LowCardinality(String) DEFAULT concat('[', '"', toString(pathway_category), '"', ',', '"', toString(output_state), '"', ',', '"', toString(stage_origin), '"', ',', '"', toString(confidence_band), '"', ',', '"', toString(evidence_basis), '"', ',', '"', toString(degradation_state), '"', ',', '"', toString(freshness), '"', ',', '"', toString(export_eligibility), '"', ',', '"', toString(contested), '"', ',', '"', toString(cost_basis), '"', ',', '"', toString(cost_bound), '"', ',', '"', toString(usage_basis), '"', ',', '"', toString(outcome), '"', ',', '"', toString(energy_basis), '"', ',', '"', toString(carbon_basis), '"', ']'));

ALTER TABLE attributions_by_service_local ON CLUSTER attribution
    (MODIFY COLUMN `trace_id` String CODEC(ZSTD(1)));

ALTER TABLE attributions_by_owner_local ON CLUSTER attribution
    (ADD COLUMN IF NOT EXISTS `shown_labels` LowCardinality(String) DEFAULT concat('[', '"', toString(pathway_category), '"', ',', '"', toString(output_state), '"', ',', '"', toString(stage_origin), '"', ',', '"', toString(confidence_band), '"', ',', '"', toString(evidence_basis), '"', ',', '"', toString(degradation_state), '"', ',', '"', toString(freshness), '"', ',', '"', toString(export_eligibility), '"', ',', '"', toString(contested), '"', ',', '"', toString(cost_basis), '"', ',', '"', toString(cost_bound), '"', ',', '"', toString(usage_basis), '"', ',', '"', toString(outcome), '"', ',', '"', toString(energy_basis), '"', ',', '"', toString(carbon_basis), '"', ']'));

ALTER TABLE attributions_by_owner ON CLUSTER attribution
    (ADD COLUMN IF NOT EXISTS `shown_labels` LowCardinality(String) DEFAULT concat('[', '"', toString(pathway_category), '"', ',', '"', toString(output_state), '"', ',', '"', toString(stage_origin), '"', ',', '"', toString(confidence_band), '"', ',', '"', toString(evidence_basis), '"', ',', '"', toString(degradation_state), '"', ',', '"', toString(freshness), '"', ',', '"', toString(export_eligibility), '"', ',', '"', toString(contested), '"', ',', '"', toString(cost_basis), '"', ',', '"', toString(cost_bound), '"', ',', '"', toString(usage_basis), '"', ',', '"', toString(outcome), '"', ',', '"', toString(energy_basis), '"', ',', '"', toString(carbon_basis), '"', ']'));

ALTER TABLE attributions_by_owner_local ON CLUSTER attribution
    (MODIFY COLUMN `trace_id` String CODEC(ZSTD(1)));

ALTER TABLE attributions_by_labels_local ON CLUSTER attribution
    (ADD COLUMN IF NOT EXISTS `shown_labels` LowCardinality(String) DEFAULT concat('[', '"', toString(pathway_category), '"', ',', '"', toString(output_state), '"', ',', '"', toString(stage_origin), '"', ',', '"', toString(confidence_band), '"', ',', '"', toString(evidence_basis), '"', ',', '"', toString(degradation_state), '"', ',', '"', toString(freshness), '"', ',', '"', toString(export_eligibility), '"', ',', '"', toString(contested), '"', ',', '"', toString(cost_basis), '"', ',', '"', toString(cost_bound), '"', ',', '"', toString(usage_basis), '"', ',', '"', toString(outcome), '"', ',', '"', toString(energy_basis), '"', ',', '"', toString(carbon_basis), '"', ']'));

ALTER TABLE attributions_by_labels ON CLUSTER attribution
    (ADD COLUMN IF NOT EXISTS `shown_labels` LowCardinality(String) DEFAULT concat('[', '"', toString(pathway_category), '"', ',', '"', toString(output_state), '"', ',', '"', toString(stage_origin), '"', ',', '"', toString(confidence_band), '"', ',', '"', toString(evidence_basis), '"', ',', '"', toString(degradation_state), '"', ',', '"', toString(freshness), '"', ',', '"', toString(export_eligibility), '"', ',', '"', toString(contested), '"', ',', '"', toString(cost_basis), '"', ',', '"', toString(cost_bound), '"', ',', '"', toString(usage_basis), '"', ',', '"', toString(outcome), '"', ',', '"', toString(energy_basis), '"', ',', '"', toString(carbon_basis), '"', ']'));

ALTER TABLE attributions_by_labels_local ON CLUSTER attribution
    (MODIFY COLUMN `trace_id` String CODEC(ZSTD(1)));
