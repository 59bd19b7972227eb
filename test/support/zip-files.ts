import { buffer } from 'node:stream/consumers'
import { fromBuffer, type Entry, type ZipFile } from 'yauzl'

/** The files of a ZIP, by their paths. */
export async function unzipped(zip: Buffer): Promise<ReadonlyMap<string, Buffer>> {
  const files = new Map<string, Buffer>()
  const opened = await new Promise<ZipFile>((resolve, reject) => {
    fromBuffer(zip, { lazyEntries: true }, (error, file) => (error === null ? resolve(file) : reject(error)))
  })
  for (;;) {
    const entry = await nextEntry(opened)
    if (entry === undefined) return files
    files.set(entry.fileName, await contentOf(opened, entry))
  }
}

function nextEntry(zip: ZipFile): Promise<Entry | undefined> {
  return new Promise((resolve, reject) => {
    const ended = () => done(() => resolve(undefined))
    const found = (entry: Entry) => done(() => resolve(entry))
    const failed = (error: Error) => done(() => reject(error))
    function done(settle: () => void): void {
      zip.off('end', ended).off('entry', found).off('error', failed)
      settle()
    }
    zip.once('end', ended).once('entry', found).once('error', failed)
    zip.readEntry()
  })
}

function contentOf(zip: ZipFile, entry: Entry): Promise<Buffer> {
  return new Promise((resolve, reject) => {
    zip.openReadStream(entry, (error, stream) => {
      if (error === null) buffer(stream).then(resolve, reject)
      else reject(error)
    })
  })
}
