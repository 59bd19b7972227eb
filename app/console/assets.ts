import { createHash } from 'node:crypto'
import { readdir, readFile } from 'node:fs/promises'
import { fileURLToPath } from 'node:url'
import type { FastifyReply, FastifyRequest } from 'fastify'
import { problem } from '../../platform/http/problems.ts'
import { atFirstUse } from '../../platform/kit/at-first-use.ts'

interface Asset {
  readonly type: string
  readonly text: string
  readonly etag: string
}

const types: Readonly<Record<string, string>> = {
  mjs: 'text/javascript; charset=utf-8',
  css: 'text/css; charset=utf-8',
  svg: 'image/svg+xml',
}
const libraries = { 'preact.mjs': 'preact', 'hooks.mjs': 'preact/hooks', 'htm.mjs': 'htm' }

const assets = atFirstUse(async (): Promise<ReadonlyMap<string, Asset>> => {
  const folder = new URL('pages/', import.meta.url)
  const own = (await readdir(folder)).filter((name) => typeOf(name) !== undefined)
  const files = [
    ...own.map((name) => [name, new URL(name, folder)] as const),
    ...Object.entries(libraries).map(([name, library]) => [name, new URL(import.meta.resolve(library))] as const),
  ]
  return new Map(
    await Promise.all(
      files.map(async ([name, url]) => {
        const text = await readFile(fileURLToPath(url), 'utf8')
        const etag = `"${createHash('sha256').update(text).digest('base64url').slice(0, 22)}"`
        return [name, { type: typeOf(name) ?? '', text, etag }] as const
      }),
    ),
  )
})

function typeOf(name: string): string | undefined {
  return types[name.slice(name.lastIndexOf('.') + 1)]
}

/** A file of the pages. Browsers ask each time whether it is the same, because another version may answer. */
export async function sendAsset(name: string, { headers }: FastifyRequest, reply: FastifyReply): Promise<FastifyReply> {
  const asset = (await assets()).get(name)
  if (asset === undefined) throw problem('not-found')
  reply.headers({ etag: asset.etag, 'cache-control': 'no-cache' })
  if (headers['if-none-match'] === asset.etag) return reply.code(304).send()
  return reply.type(asset.type).send(asset.text)
}
