import type { ResultControl } from './controls.ts'
import { coordinatesBy, FINDINGS, type Lesion, lesionsIn } from './findings.ts'

export type CaseImage = { imageId: number; sha256: string; imageType: string }

export type ProcessedCase = {
  caseId: number
  requestingSystem: string
  /** Milliseconds since the epoch. */
  processedAt: number
  images: readonly CaseImage[]
}

const PROVIDER_VERSION = '5.4.1-simulator'
const SUCCESS = 'SUCCESSFUL_PROCESSING'
const SUITABLE = 'IMAGE_QUALITY_SUITABLE'

/** The controls for a case. The first image, in order, whose control has the member decides. */
export function controlOfCase<Member extends 'not_ready_polls' | 'analysis_result'>(
  images: readonly CaseImage[],
  controls: readonly ResultControl[],
  member: Member,
): ResultControl[Member] | undefined {
  for (const image of images) {
    const value = controlOf(image, controls, member)
    if (value !== undefined) return value
  }
  return undefined
}

/** The result of a processed case, with every member of section 2.6 of the specification. */
export function resultPayload(of: ProcessedCase, controls: readonly ResultControl[]): Record<string, unknown> {
  const analysisResult = controlOfCase(of.images, controls, 'analysis_result') ?? SUCCESS
  const images = of.images.map((image) => ({
    imageId: image.imageId,
    imageHash: image.sha256,
    imageType: image.imageType,
    imageQuality: controlOf(image, controls, 'image_quality') ?? SUITABLE,
  }))
  const lesions = of.images
    .flatMap((image, index) => {
      const usable = analysisResult === SUCCESS && images[index]?.imageQuality === SUITABLE
      return lesionsOf(image, controls, usable).map((lesion, n) => ({ lesionId: image.imageId * 100 + n, ...lesion }))
    })
    .map((lesion, index) => ({ ...lesion, lesionNumber: index + 1 }))
  return {
    status: 'STATUS_PROCESSED',
    caseId: of.caseId,
    requestingSystem: of.requestingSystem,
    assessedByProviderVersion: PROVIDER_VERSION,
    regulatory: { deviceName: 'Inference provider simulator', udi: null, intendedUse: 'Software tests only' },
    analysisStatus: 'ANALYSIS_COMPLETED',
    analysisResult,
    analysisResultStatement:
      analysisResult === SUCCESS ? 'The images were processed.' : 'The images could not be processed.',
    processingType: processingType(of.images),
    lesionCount: lesions.length,
    reportDate: of.processedAt,
    sensitivitySet: 'BALANCED',
    images,
    lesions,
    settings: {
      priorityMap: Object.fromEntries(FINDINGS.map((finding) => [finding.classification, finding.priority])),
      sensitivityMap: Object.fromEntries(
        FINDINGS.map((finding) => [finding.classification, finding.category === 'Malignant' ? 0.95 : 0.85]),
      ),
    },
  }
}

/** An exact hash has priority over `*`, and a later control over an earlier one. */
function controlOf<Member extends keyof ResultControl>(
  image: CaseImage,
  controls: readonly ResultControl[],
  member: Member,
): ResultControl[Member] | undefined {
  const having = controls.filter((control) => control[member] !== undefined)
  const found =
    having.findLast((control) => control.sha256 === image.sha256) ??
    having.findLast((control) => control.sha256 === '*')
  return found?.[member]
}

/**
 * Missing members of a control's lesions come from the image's own findings. Unusable images have no lesions unless a
 * control adds some.
 */
function lesionsOf(image: CaseImage, controls: readonly ResultControl[], usable: boolean): Lesion[] {
  const own = lesionsIn(image.sha256)
  const given = controlOf(image, controls, 'lesions')
  if (given === undefined) return usable ? own : []
  const bytes = Buffer.from(image.sha256, 'hex')
  return given.map((lesion, index) => {
    const pattern = FINDINGS.find(({ classification }) => classification === lesion.classification) ?? own[0]
    if (pattern === undefined) throw new Error('every image has a lesion')
    return { ...pattern, coordinates: coordinatesBy(bytes, index), ...lesion }
  })
}

function processingType(images: readonly CaseImage[]): string {
  const types = new Set(images.map((image) => image.imageType))
  if (!types.has('MACROSCOPIC')) return 'DERMO_ONLY'
  return types.has('DERMOSCOPIC') ? 'DERMO_MACRO' : 'MACRO_ONLY'
}
