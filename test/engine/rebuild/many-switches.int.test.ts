import { it } from 'vitest'
import { RebuildWorld } from './rebuild-world.ts'
import { rebuildUnderLoad } from './under-load.ts'

const world = RebuildWorld.ofThisFile()

it('a switch ten times in a row under load fails no query, loses no row, and its writer continues', () =>
  rebuildUnderLoad(world, 10))
