/** `node verify.mjs <library> <file of deliveries>`: what the library says of each, and of one with another body. */
import { readFileSync } from 'node:fs'

const [library = '', file = ''] = process.argv.slice(2)

/** @type {(delivery: { body: string, headers: Record<string, string>, secret: string }) => unknown} */
let verify
if (library === 'stripe') {
  const { default: Stripe } = await import('stripe')
  const stripe = new Stripe('sk_test_none')
  verify = ({ body, headers, secret }) =>
    stripe.webhooks.constructEvent(body, headers['service-signature'] ?? '', secret)
} else {
  const { Webhook } = await import(library)
  verify = ({ body, headers, secret }) => new Webhook(secret).verify(body, headers)
}

for (const delivery of JSON.parse(readFileSync(file, 'utf8'))) {
  try {
    verify(delivery)
    console.log(`ok ${delivery.what}`)
  } catch (cause) {
    console.log(`not ok ${delivery.what}: ${cause}`)
  }
  try {
    verify({ ...delivery, body: `${delivery.body} ` })
    console.log(`not ok ${delivery.what}, another body: it is taken`)
  } catch {
    console.log(`ok ${delivery.what}, another body`)
  }
}
