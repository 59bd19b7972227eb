/** Pixels. */
export interface Dimensions {
  readonly width: number
  readonly height: number
}

/** Reads the dimensions of a JPEG or PNG from a stream of its bytes. Keeps at most one segment of its head in memory. */
export interface ImageHead {
  push(chunk: Buffer): void
  /** Null if the bytes until now do not contain the whole head of a JPEG or PNG. */
  dimensions(): Dimensions | null
}

/** A parser requests bytes to read, or bytes to pass over, and receives exactly the bytes to read. */
type Request = { readonly read: number } | { readonly skip: number }
type Parser = Generator<Request, Dimensions | null, Buffer>

const pngSignature = Buffer.from([0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a])
const jpegSignature = Buffer.from([0xff, 0xd8])
/** Requests until a JPEG counts as one without a head. A photograph has some 20 segments, of up to 64 KiB each. */
const mostRequests = 64 * 1024

/** Segments that a decoder reads: quantization and Huffman tables, restart interval, number of lines, APPn, comment. */
const isTable = (code: number) => [0xc4, 0xcc, 0xdb, 0xdc, 0xdd, 0xfe].includes(code) || (code >= 0xe0 && code <= 0xef)
/** Frame headers of the processes that decoders support: baseline, extended, progressive; arithmetic coding too. */
const isFrameHeader = (code: number) => [0xc0, 0xc1, 0xc2, 0xc9, 0xca].includes(code)
const isWithoutSegment = (code: number) => code === 0x01 || (code >= 0xd0 && code <= 0xd7)
const scanHeader = 0xda
/** A frame header with 255 components. */
const longestHeader = 6 + 3 * 255

/** Whether a header contains at least one component, and as many as the byte at `place` counts. */
function isCounted(header: Buffer, place: number, bytesEach: number, otherBytes: number): boolean {
  const components = header.at(place) ?? 0
  return components > 0 && header.length === otherBytes + components * bytesEach
}

function* parseHead(): Parser {
  const first = yield { read: jpegSignature.length }
  if (first.equals(jpegSignature)) return yield* parseJpeg()
  const rest = yield { read: pngSignature.length - first.length }
  return Buffer.concat([first, rest]).equals(pngSignature) ? yield* parsePng() : null
}

/**
 * The markers of a JPEG up to its first scan (ITU-T T.81, B.2.1). The frame header may precede or follow every other
 * segment. Like decoders, it passes over fill bytes before a marker (B.1.1.2) and over stray bytes between segments.
 */
function* parseJpeg(): Parser {
  let dimensions: Dimensions | null = null
  let isAfterPrefix = false
  for (let request = 0; request < mostRequests; request++) {
    const code = (yield { read: 1 }).readUInt8()
    const isMarker = isAfterPrefix && code !== 0x00 && code !== 0xff
    isAfterPrefix = code === 0xff
    if (!isMarker || isWithoutSegment(code)) continue
    if (!isTable(code) && !isFrameHeader(code) && code !== scanHeader) return null
    const length = (yield { read: 2 }).readUInt16BE() - 2
    if (isTable(code)) {
      // Decoders pass over metadata whose length is below that of the length itself.
      yield { skip: Math.max(0, length) }
      continue
    }
    if (length < 0 || length > longestHeader) return null
    const header = yield { read: length }
    if (code === scanHeader) return isCounted(header, 0, 2, 4) ? dimensions : null
    if (dimensions !== null || !isCounted(header, 5, 3, 6)) return null
    dimensions = { width: header.readUInt16BE(3), height: header.readUInt16BE(1) }
  }
  return null
}

/**
 * The first chunk of a PNG: length, type, 13 bytes of content, CRC (PNG specification, 5.3 and 11.2.1). The CRC is not
 * checked: a decoder that ignores it would open an image of any size.
 */
function* parsePng(): Parser {
  const chunk = yield { read: 25 }
  if (chunk.readUInt32BE(0) !== 13 || chunk.toString('latin1', 4, 8) !== 'IHDR') return null
  return { width: chunk.readUInt32BE(8), height: chunk.readUInt32BE(12) }
}

export function createImageHead(): ImageHead {
  const parser = parseHead()
  let request = parser.next()
  /** Bytes that arrived and are neither read nor passed over yet: fewer than the parser requests. */
  let pending: Buffer = Buffer.alloc(0)
  let skip = 0
  return {
    push(chunk) {
      if (request.done === true) return
      pending = pending.length === 0 ? chunk : Buffer.concat([pending, chunk])
      while (request.done !== true) {
        const passed = Math.min(skip, pending.length)
        skip -= passed
        const wanted: number = 'read' in request.value ? request.value.read : 0
        if (skip > 0 || pending.length < passed + wanted) {
          // A copy: the caller may use the memory of its chunk again.
          pending = Buffer.from(pending.subarray(passed))
          return
        }
        if ('skip' in request.value) skip = request.value.skip
        const bytes = pending.subarray(passed, passed + wanted)
        pending = pending.subarray(passed + wanted)
        request = parser.next(bytes)
      }
    },
    dimensions: () => (request.done === true ? request.value : null),
  }
}
