import { checkOutboundUrl, urlRules, type OutboundRules, type UrlRefusal } from '../../platform/outbound/addresses.ts'
import { outboundRules } from '../../platform/outbound/own-servers.ts'
import type { MemberError } from '../../platform/http/problems.ts'
import type { GivenAddress, ReviewImage } from '../../streams/ai-review/review-image.ts'
import type { CommandDependencies } from '../../engine/commands/dependencies.ts'
import { maxPresignedUrlLength, type SupersedeAiReviewBody } from './bodies.ts'

type RequestedImage = SupersedeAiReviewBody['images'][number]

export interface AddressRules {
  readonly outbound: OutboundRules
  /** Addresses of the platform's own object store. They are accepted on any network. */
  readonly objectStores: readonly (string | undefined)[]
  readonly now: Date
}

export function imageRules({ configuration }: Pick<CommandDependencies, 'configuration'>): Omit<AddressRules, 'now'> {
  const objectStores = [configuration.s3Endpoint, configuration.s3PublicEndpoint]
  return { outbound: outboundRules(configuration), objectStores }
}

/** Finds images that occur twice, and addresses that have expired or that the platform must not call. */
export function imageErrors(images: readonly RequestedImage[], rules: AddressRules): MemberError[] {
  const seen = new Set<string>()
  return images.flatMap((image, index) => {
    const errors: MemberError[] = []
    const refuse = (member: keyof RequestedImage, detail: string, code: string) =>
      errors.push({ pointer: `/images/${index}/${member}`, detail, code })
    const imageId = image.imageId.toLowerCase()
    if (seen.has(imageId)) refuse('imageId', 'occurs twice', 'duplicate')
    seen.add(imageId)
    const refused = addressRefusal(image.presignedUrl, rules)
    if (refused !== null) refuse('presignedUrl', urlRules[refused], refused)
    if (Date.parse(image.presignedUrlExpiresAt) <= rules.now.getTime())
      refuse('presignedUrlExpiresAt', 'has passed', 'expired')
    return errors
  })
}

const neverAccepted: readonly UrlRefusal[] = ['malformed', 'credentials', 'fragment']

function addressRefusal(address: string, { outbound, objectStores }: AddressRules): UrlRefusal | null {
  const checked = checkOutboundUrl(address, outbound, maxPresignedUrlLength)
  if ('url' in checked) return null
  const isOurs = objectStores.some(
    (store) => store !== undefined && URL.canParse(address) && new URL(address).origin === new URL(store).origin,
  )
  return isOurs && !neverAccepted.includes(checked.refused) ? null : checked.refused
}

/**
 * The form in events: ids in lower case, instants in UTC to the millisecond. A caller gives addresses, so no image has
 * a key.
 */
export function toReviewImages(given: readonly RequestedImage[]): {
  readonly images: ReviewImage[]
  readonly addresses: GivenAddress[]
} {
  const all = given.map(({ imageId, imageType, deviceManufacturer, deviceModel, ...given }) => {
    const id = imageId.toLowerCase()
    const { presignedUrl, presignedUrlExpiresAt } = given
    const device = {
      ...(deviceManufacturer === undefined ? {} : { deviceManufacturer }),
      ...(deviceModel === undefined ? {} : { deviceModel }),
    }
    const address = { imageId: id, presignedUrl, presignedUrlExpiresAt: new Date(presignedUrlExpiresAt).toISOString() }
    return { image: { imageId: id, imageType, ...device, objectKey: null }, address }
  })
  return { images: all.map(({ image }) => image), addresses: all.map(({ address }) => address) }
}
