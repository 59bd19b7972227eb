import { afterAll, expect } from 'vitest'
import { endUnlessEndToEnd } from './end-to-end-resources.ts'
import { closeOwn } from './given-projector.ts'

/*
 * Vitest runs this file before each test file. A worker keeps all other modules for its next files, so a hook in one of
 * them would belong to the first file only.
 */
await endUnlessEndToEnd(expect.getState().testPath ?? '')
afterAll(closeOwn)
