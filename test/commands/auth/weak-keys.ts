import { generateKeyPairSync, type JsonWebKey } from 'node:crypto'

const bytes = (...values: readonly number[]) => Buffer.from(values).toString('base64url')

/*
 * Moduli of RSA keys whose private parts nobody has kept. They are fixed, because each search for primes takes up to a
 * second of processor time.
 */
const modulusOf1024Bits = [
  's7euu03ypVnh2J1VXFwAAwAsRmMA9UtBKWpEtfanCVq8BSUYf-smAc5ObW58M3LuNYYWxFuipMZHveBh6C1EPifgAuVJJv5icsf6',
  'QysMre2NkgqgJR89ZscdZ-Qf5c_w7QTxP-jlwVyqnjMu-wlIUNJ8_iDj_tSgq6BopiiyEps',
].join('')
const modulusOf2047Bits = [
  'YBi_RHyfIbiYnnwZwfrTn1V-lr5kNXKzvD-hGWzdyjvdPnQXZDWrgXErJzzLd_eJiStIwRCOXK4r6Kg-N01jeDVK4vPkAJXFgizB',
  'O8IhFdJgLiPyotZAl-SOf6T9ZI1YkE2BIS6bXFZKt1sp779sp6D3nt7Slmf9igcLssu7XN4Yoix4VeZXbTo8k5aGumil2RtyFqs8',
  'Kv82kyNRWwWVlyOO3A7ivCt8RkhmqbijMFiM5XP8W5N3KvCBJJT9O7XSjgrbHIn0-qYF85PxVuwmXWsy-O0zGyKYdgcmehYj8lsn',
  '9BkdJFlXUcTD2s7loHsd_mcvzv5sXvdnlBKdDc3nvQ',
].join('')
const modulusOf2048Bits = [
  'vVEYJaoq-VNHc5ITYVtdw8gMjV9egl5vV4JK18oIdWyXmKomCsIaZwMoo1DEttCMDZqOiAWZtrdCrNCi0jK8HnhuixxvzpkCH74v',
  'sfh2IojVV8uOgq9vtFy9UR_PLQez7YknQPZR5glSpdofQnLqDgukqZe_1CdRCsoUjuho4wJ_wrpjaKqJZAf-cYac0DNIBSvAKgON',
  'UiBDpqW0JFOWDyAqzn1bhxGuecgOic2hcYGhOXrLVYJUmi6qddGwVgyvYLomq3iXU3Em1fLsnDsH1OfTVgY98mBDKelby9NgBaUW',
  '24WCFJQ3FC11jrroiLO2BCRssMPP4fWf2_mV3uIINQ',
].join('')
const modulusOf3072Bits = [
  'vmWedTkfcWmctrQDAMN4vmqygyY0gRBkjza_hif7I8v4mt-cgB7BQrFd0WxruVoCIeN6d6UkEqtm7AdjjDPEE_HwroKCcEDFd7bi',
  '8_ms0yjpwuxUtEdyXAHculfysKOMI6ch4CIPmadQ49lDBmxRIeS-3D18ecfmoGeYf0MOCsg_U81RapGtD193AIxKrWPMpSJY6ncr',
  'YBUF9EfAvUV47711RUJE2vxCw2KkL5rK0H0od-fo-bLmbgSTWEIPSLMEJfhhx78OOnEGJ15hwu9KdIpID9qOOlWdBqHvlEQfOkxb',
  'ZpxmzpHBbQm54ZWIxOLrlyOvwCYS08aUj8-HbJ61aA8_OcpoQPWEmEs990lH1Etjt6ApWApLRSo1rVId5MrqIOPQmZNG_n_gdQpO',
  'TQXjkDrHAKBwpfNmAs0vn-PugEPZ2zS2xFXCfKbwrJhRm70-sS7fXTLsM38ZjliiF9LMzJTl492IM1AmZSIe85rXWoti76DISM_M',
  '-XSJYy6mGNd_',
].join('')

const rsa = (n: string, e = bytes(1, 0, 1)): JsonWebKey => ({ kty: 'RSA', n, e })
const elliptic = (namedCurve: string): JsonWebKey =>
  generateKeyPairSync('ec', { namedCurve }).publicKey.export({ format: 'jwk' })

const usual = rsa(modulusOf2048Bits)
const curve = elliptic('P-384')
/** Twenty zeros before a modulus make its text long, and the number stays small. */
const padded = (key: JsonWebKey): JsonWebKey => ({
  ...key,
  n: Buffer.concat([Buffer.alloc(300), Buffer.from(String(key.n), 'base64url')]).toString('base64url'),
})

export const strongKeys: Readonly<Record<string, JsonWebKey>> = {
  'RSA, 2048 bits': usual,
  'RSA, 3072 bits, exponent 65539': rsa(modulusOf3072Bits, bytes(1, 0, 3)),
  'P-384': curve,
}

export const weakKeys: Readonly<Record<string, JsonWebKey>> = {
  'RSA, 1024 bits': rsa(modulusOf1024Bits),
  'RSA, 1024 bits behind zeros': padded(rsa(modulusOf1024Bits)),
  'RSA, 2047 bits': rsa(modulusOf2047Bits),
  'RSA, exponent 3': { ...usual, e: bytes(3) },
  'RSA, exponent 3 behind zeros': { ...usual, e: bytes(0, 0, 0, 3) },
  'RSA, exponent 1': { ...usual, e: bytes(1) },
  'RSA, exponent 65536': { ...usual, e: bytes(1, 0, 0) },
  'RSA, exponent 65535': { ...usual, e: bytes(255, 255) },
  'RSA, an even exponent': { ...usual, e: bytes(1, 0, 2) },
  'RSA, an even modulus': { ...usual, n: bytes(...Array.from({ length: 255 }, () => 0xc5), 0xc6) },
  'RSA, a power of two': { ...usual, n: bytes(0x80, ...Array.from({ length: 255 }, () => 0)) },
  'RSA, characters that are no base64url': { ...usual, n: `${usual.n}==` },
  'P-256': elliptic('P-256'),
  'a point that is not on the curve': { ...curve, y: String(curve.x) },
}
