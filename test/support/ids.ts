/** The part of an id after its prefix: base32 of 128 bits. */
export const exampleBits = '7v3k9q2m4x8n5c1r6t0w3y9zbg'
