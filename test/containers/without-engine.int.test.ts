import { execFile } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import { expect, test } from 'vitest'

const main = fileURLToPath(new URL('main.ts', import.meta.url))

test('without a container engine it ends with one sentence about the requirement', async () => {
  // An address on which nothing listens, and no home folder with settings of another engine.
  const env = { PATH: '/nowhere', HOME: '/nowhere', DOCKER_HOST: 'tcp://127.0.0.1:1' }
  const received = await new Promise((resolve) => {
    execFile(process.execPath, [main], { env }, (error, stdout, stderr) =>
      resolve({ code: error?.code, stdout, stderr }),
    )
  })
  expect(received).toEqual({
    code: 1,
    stdout: '',
    stderr:
      'npm run test:containers needs a container engine (Docker or Podman) that it can reach; npm test needs none.\n',
  })
})
