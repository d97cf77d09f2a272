import { expect, test } from 'vitest'
import { inherited, inheritedForS3 } from '../../../../internal/local/supervisor/environment.js'

const FROM = {
  PATH: '/bin',
  HOME: '/home/ada',
  NODE_EXTRA_CA_CERTS: '/etc/ca.pem',
  NODE_OPTIONS: '--inspect',
  AWS_ACCESS_KEY_ID: 'AKIA',
  AWS_PROFILE: 'exports',
  DATABASE_PASSWORD: 'secret',
  ATTRIBUTION_MASTER_KEY: 'secret',
  https_proxy: undefined,
}

test('every role inherits PATH and NODE_EXTRA_CA_CERTS, and no other variable', () => {
  expect(inherited(FROM)).toEqual({ PATH: '/bin', NODE_EXTRA_CA_CERTS: '/etc/ca.pem' })
  expect(inherited({})).toEqual({})
})

test('only a role that uses S3 inherits the AWS credentials and HOME', () => {
  expect(inheritedForS3(FROM)).toEqual({ HOME: '/home/ada', AWS_ACCESS_KEY_ID: 'AKIA', AWS_PROFILE: 'exports' })
})
