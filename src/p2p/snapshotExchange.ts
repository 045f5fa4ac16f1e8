import { budgetKeyOf, readNetworkAddress } from '../primitives/networkAddress.ts'
import { ProtobufError, ProtobufFields, ProtobufWriter } from '../primitives/protobuf.ts'
import type { FilePiece, OfferedSnapshot, SnapshotSource } from '../snapshot/offeredSnapshots.ts'
import type { NetworkMetrics } from '../telemetry/metrics.ts'
import { sourceGroupOf } from './addressBook.ts'
import { FairQueue } from './fairQueue.ts'
import { LIMITS, REQUEST_LIMITS, SNAPSHOT_SERVING, TokenBucket } from './limits.ts'
import { type RequestHandler, request } from './requests.ts'
import type { Session } from './session.ts'

/*
 * State sync between peers. A node that has snapshots offers them (`offers`) and serves their files, manifests and chunks, in pieces
 * (`piece`). Files are named by the sha256 of their bytes. So a node that restores fetches pieces of the
 * same file from several peers, and resumes after an interruption where it was.
 */

/** The most snapshots in an answer; more are ignored. */
export const OFFERS_PER_ANSWER = 16
/** Bytes of a piece. A request for it takes one round trip. */
export const PIECE_BYTES = LIMITS.snapshotPieceBytes
const HASH_BYTES = 32
const Kind = { offers: 1, piece: 2 } as const

/** Serves this node's snapshots: one piece at a time for a peer, within a rate for all and one for each address. */
export function snapshotHandler(source: SnapshotSource, now: () => number): RequestHandler {
  const rates = new ServingRates(now)
  const reading = new WeakMap<Session, Promise<unknown>>()
  return {
    protocol: 'snapshots',
    limits: REQUEST_LIMITS.snapshots,
    answer: async (session, body, respond) => {
      const asked = decodeRequest(body)
      if (asked === 'offers') {
        await respond(encodeOffers((await source.offers()).slice(0, OFFERS_PER_ANSWER)))
        return
      }
      if (!(await rates.take(session.remote.host))) throw new Error('snapshots are served as fast as they may be')
      const former = reading.get(session)
      const read = (async () => {
        await former
        return source.read(asked.sha256, asked.offset, PIECE_BYTES)
      })()
      reading.set(
        session,
        read.catch(() => undefined),
      )
      const piece = await read
      // An answer without bytes: there is no such file, or it is shorter.
      await respond(encodePieceHeader(piece))
      if (piece !== undefined && piece.bytes.length > 0) await respond(piece.bytes)
    },
  }
}

/**
 * Requests a peer's list of snapshots.
 * @throws Error when the peer does not answer in time or its answer is invalid
 */
export async function fetchOffers(
  context: { readonly metrics: NetworkMetrics },
  session: Session,
): Promise<readonly OfferedSnapshot[]> {
  let offers: readonly OfferedSnapshot[] = []
  const bounds = { frameBytes: LIMITS.answerBytes, totalBytes: LIMITS.answerBytes }
  await request(context, session, 'snapshots', encodeRequest('offers'), bounds, (body) => {
    offers = decodeOffers(body)
    return true
  })
  return offers
}

/**
 * Requests a piece of a file from a peer: {@link PIECE_BYTES}, or what is left of the file. Only the
 * hash of the whole file shows whether the bytes are right.
 * @returns undefined when the peer does not have the file
 * @throws Error when the peer does not answer in time or its answer is invalid
 */
export async function fetchPiece(
  context: { readonly metrics: NetworkMetrics },
  session: Session,
  file: { readonly sha256: Uint8Array; readonly offset: number },
): Promise<FilePiece | undefined> {
  let size: number | undefined
  let piece: FilePiece | undefined
  const bounds = { frameBytes: PIECE_BYTES, totalBytes: PIECE_BYTES + LIMITS.requestBytes }
  await request(context, session, 'snapshots', encodeRequest(file), bounds, (body) => {
    if (size === undefined) {
      size = decodePieceHeader(body)
      return size === 0
    }
    const expected = Math.min(PIECE_BYTES, size - file.offset)
    if (body.length !== expected) throw new ProtobufError(`a piece of ${body.length} bytes instead of ${expected}`)
    piece = { size, bytes: body }
    return true
  })
  return piece
}

/** Limits the bytes of snapshots that this node serves per second, in all and to each address (IPv6: to each /64). */
export class ServingRates {
  readonly #now: () => number
  readonly #total: FairQueue
  readonly #addresses = new Map<string, TokenBucket>()

  constructor(now: () => number) {
    this.#now = now
    this.#total = new FairQueue({ rate: SNAPSHOT_SERVING.total, now })
  }

  /**
   * Takes one piece from the rates, when it is its turn.
   * @returns false: that would take too long
   */
  async take(host: string): Promise<boolean> {
    const nowMs = this.#now()
    const own = this.#bucketOf(host, nowMs)
    const { address, longestWait } = SNAPSHOT_SERVING
    // What is drawn beyond a bucket's tokens is its debt, which takes time to pay.
    if (!own.has(-address.perSecond * longestWait, nowMs)) return false
    const waitMs = own.draw(PIECE_BYTES, nowMs)
    if (waitMs > 0) await new Promise((resolve) => setTimeout(resolve, waitMs).unref())
    return this.#takeTurn(sourceGroupOf(readNetworkAddress(host) ?? host))
  }

  #takeTurn(network: string): Promise<boolean> | true {
    if (this.#total.take(network, PIECE_BYTES)) return true
    return new Promise((resolve) => {
      const cancel = this.#total.wait(
        network,
        () => PIECE_BYTES,
        () => {
          clearTimeout(timer)
          resolve(true)
        },
      )
      const timer = setTimeout(() => {
        cancel()
        resolve(false)
      }, SNAPSHOT_SERVING.longestWait * 1_000)
    })
  }

  #bucketOf(host: string, nowMs: number): TokenBucket {
    const key = budgetKeyOf(readNetworkAddress(host) ?? host)
    const known = this.#addresses.get(key)
    const bucket = known ?? new TokenBucket(SNAPSHOT_SERVING.address, nowMs)
    // The newest last: the address that has asked for nothing for the longest time is forgotten.
    this.#addresses.delete(key)
    this.#addresses.set(key, bucket)
    if (this.#addresses.size > SNAPSHOT_SERVING.addresses) {
      this.#addresses.delete(this.#addresses.keys().next().value!)
    }
    return bucket
  }
}

type Asked = 'offers' | { readonly sha256: Uint8Array; readonly offset: number }

function encodeRequest(asked: Asked): Uint8Array {
  const writer = new ProtobufWriter()
  if (asked === 'offers') return writer.varint(1, Kind.offers).finish()
  return writer.varint(1, Kind.piece).bytes(2, asked.sha256).varint(3, asked.offset).finish()
}

/** @throws ProtobufError */
function decodeRequest(body: Uint8Array): Asked {
  const fields = new ProtobufFields(body)
  const kind = fields.natural(1)
  if (kind === Kind.offers) return 'offers'
  if (kind !== Kind.piece) throw new ProtobufError(`a request of kind ${kind}`)
  return { sha256: fields.fixedBytes(2, HASH_BYTES), offset: fields.natural(3) }
}

function encodeOffers(offers: readonly OfferedSnapshot[]): Uint8Array {
  // The first field is for an answer without snapshots, which would be empty otherwise.
  return new ProtobufWriter().varint(1, 1).repeatedMessage(2, writeOffer, offers).finish()
}

/** @throws ProtobufError */
function decodeOffers(body: Uint8Array): readonly OfferedSnapshot[] {
  const offers = new ProtobufFields(body).repeatedMessage(2, readOffer)
  if (offers.length > OFFERS_PER_ANSWER) throw new ProtobufError('more snapshots than an answer may hold')
  return offers
}

function writeOffer(writer: ProtobufWriter, { height, manifest, manifestBytes, chunkBytes }: OfferedSnapshot): void {
  writer.varint(1, height).bytes(2, manifest).varint(3, manifestBytes).varint(4, chunkBytes)
}

function readOffer(fields: ProtobufFields): OfferedSnapshot {
  return {
    height: fields.natural(1),
    manifest: fields.fixedBytes(2, HASH_BYTES),
    manifestBytes: fields.natural(3),
    chunkBytes: fields.natural(4),
  }
}

/** Returns the size of the file; 0: the peer does not have it, or the offset is behind its end. */
function encodePieceHeader(piece: FilePiece | undefined): Uint8Array {
  const size = piece === undefined || piece.bytes.length === 0 ? 0 : piece.size
  return new ProtobufWriter().varint(1, 1).varint(2, size).finish()
}

/** @throws ProtobufError */
function decodePieceHeader(body: Uint8Array): number {
  return new ProtobufFields(body).natural(2)
}
