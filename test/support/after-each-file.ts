import { afterAll } from 'vitest'
import { closeOwn } from './given-projector.ts'

/*
 * Vitest runs this file before each test file. A worker keeps all other modules for its next files, so a hook in one of
 * them would belong to the first file only.
 */
afterAll(closeOwn)
