import { randomBytes, scrypt, timingSafeEqual, type ScryptOptions } from 'node:crypto'

/** Cost of new hashes: about 50 ms and 16 MiB for each check of a password. */
const COST = 16_384
const BLOCK_SIZE = 8
const PARALLELISM = 1
const KEY_BYTES = 32
const SALT_BYTES = 16
/** A hash with a higher cost is refused. Otherwise a users file could stop the node. */
const LARGEST_MEMORY = 256 << 20

const HASH = /^scrypt\$(\d+)\$(\d+)\$(\d+)\$([\w-]+)\$([\w-]+)$/

/** `scrypt$cost$block size$parallelism$salt$key`, salt and key in base64url. */
export async function hashPassword(password: string): Promise<string> {
  const salt = randomBytes(SALT_BYTES)
  const key = await derive(password, salt, KEY_BYTES, { N: COST, r: BLOCK_SIZE, p: PARALLELISM })
  return ['scrypt', COST, BLOCK_SIZE, PARALLELISM, salt.toString('base64url'), key.toString('base64url')].join('$')
}

export function isPasswordHash(text: string): boolean {
  const parts = HASH.exec(text)
  return parts !== null && 128 * Number(parts[1]) * Number(parts[2]) <= LARGEST_MEMORY
}

/** Compares a password with a result of `hashPassword`. Rejects when the hash has another form. */
export async function isPassword(password: string, hash: string): Promise<boolean> {
  const [, cost, blockSize, parallelism, salt = '', key = ''] = HASH.exec(hash) ?? []
  const expected = Buffer.from(key, 'base64url')
  const options = { N: Number(cost), r: Number(blockSize), p: Number(parallelism), maxmem: LARGEST_MEMORY * 2 }
  return timingSafeEqual(expected, await derive(password, Buffer.from(salt, 'base64url'), expected.length, options))
}

function derive(password: string, salt: Buffer, length: number, options: ScryptOptions): Promise<Buffer> {
  return new Promise((resolve, reject) => {
    scrypt(password, salt, length, options, (error, key) => {
      if (error === null) resolve(key)
      else reject(error)
    })
  })
}
