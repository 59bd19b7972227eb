import { readFileSync } from 'node:fs'
import { Type } from 'typebox'
import { Parse } from 'typebox/schema'

const Vectors = Type.Object({
  roots: Type.Record(Type.String(), Type.String()),
  inclusion: Type.Array(Type.Object({ index: Type.Integer(), size: Type.Integer(), proof: Type.Array(Type.String()) })),
  consistency: Type.Array(Type.Object({ from: Type.Integer(), to: Type.Integer(), proof: Type.Array(Type.String()) })),
  tiles: Type.Object({ size: Type.Integer(), count: Type.Integer(), sha256: Type.String() }),
  checkpoint: Type.Object({ note: Type.String(), log: Type.String(), witness: Type.String() }),
  proof: Type.String(),
})

/** Made once by a Go program with golang.org/x/mod/sumdb and filippo.io/torchwood. Entry n of its log is `leaf <n>`. */
export const vectors = Parse(Vectors, JSON.parse(readFileSync(new URL('go-vectors.json', import.meta.url), 'utf8')))

export function entryOfVectors(index: number): Buffer {
  return Buffer.from(`leaf ${index}`)
}
