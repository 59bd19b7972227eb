// Runs after an install, with whatever Node.js the machine has. npm 10 drops the command `node` of the package that fits
// this machine together with those of the packages that do not, since they share its name: it is put back here, so that
// scripts run on the Node.js of the lockfile. Without such a package the machine's own Node.js must be 24 or newer.
import { existsSync, symlinkSync } from 'node:fs'

const command = new URL('../node_modules/.bin/node', import.meta.url)
const target = `../node-${process.platform}-${process.arch}/bin/node`
if (process.platform !== 'win32' && !existsSync(command)) {
  if (existsSync(new URL(target, command))) symlinkSync(target, command)
  else if (Number(process.versions.node.split('.')[0]) < 24) {
    process.stderr.write(
      `Node.js 24 or newer is needed: there is no package of it for ${process.platform}-${process.arch}.\n`,
    )
  }
}
