import { expect, test } from 'vitest'
import { inherited, inheritedForS3, inheritedForSpans } from '../../../../internal/local/supervisor/environment.js'

const FROM = {
  PATH: '/bin',
  HOME: '/home/ada',
  NODE_EXTRA_CA_CERTS: '/etc/ca.pem',
  NODE_OPTIONS: '--inspect',
  AWS_ACCESS_KEY_ID: 'AKIA',
  AWS_PROFILE: 'exports',
  DATABASE_PASSWORD: 'secret',
  ATTRIBUTION_MASTER_KEY: 'secret',
  OTEL_EXPORTER_OTLP_HEADERS: 'authorization=secret',
  OTEL_EXPORTER_OTLP_TRACES_COMPRESSION: 'gzip',
  OTEL_EXPORTER_OTLP_METRICS_HEADERS: 'authorization=other',
  OTEL_RESOURCE_ATTRIBUTES: 'team=other',
  https_proxy: undefined,
}

test('every role inherits PATH and NODE_EXTRA_CA_CERTS, and no other variable', () => {
  expect(inherited(FROM)).toEqual({ PATH: '/bin', NODE_EXTRA_CA_CERTS: '/etc/ca.pem' })
  expect(inherited({})).toEqual({})
})

test('where spans are exported, roles inherit what their exporter reads', () => {
  expect(inheritedForSpans(FROM)).toEqual({
    OTEL_EXPORTER_OTLP_HEADERS: 'authorization=secret',
    OTEL_EXPORTER_OTLP_TRACES_COMPRESSION: 'gzip',
  })
})

test('only a role that uses S3 inherits the AWS credentials and HOME', () => {
  expect(inheritedForS3(FROM)).toEqual({ HOME: '/home/ada', AWS_ACCESS_KEY_ID: 'AKIA', AWS_PROFILE: 'exports' })
})
