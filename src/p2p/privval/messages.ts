import { PROPOSAL_CODEC, VOTE_CODEC } from '../../chain/comet/vote.ts'
import { ConsensusDecodingError, readTime } from '../../chain/comet/wire.ts'
import type { RemoteSignature, SigningRequest } from '../../consensus/consensusKey.ts'
import { EMPTY_BYTES } from '../../primitives/bytes.ts'
import { ProtobufError, ProtobufFields, ProtobufWriter } from '../../primitives/protobuf.ts'

/** CometBFT 0.38, proto/tendermint/privval/types.proto, Message.sum */
const KINDS = {
  pubKeyRequest: 1,
  pubKeyResponse: 2,
  signVoteRequest: 3,
  signedVoteResponse: 4,
  signProposalRequest: 5,
  signedProposalResponse: 6,
  pingRequest: 7,
  pingResponse: 8,
} as const

/** An answer of a signer. */
export type SignerAnswer =
  | { readonly kind: 'publicKey'; readonly publicKey: Uint8Array }
  | ({ readonly kind: 'signature' } & RemoteSignature)
  | { readonly kind: 'ping' }
  /** RemoteSignerError: the signer refuses the request */
  | { readonly kind: 'refusal'; readonly reason: string }

/** A signer sent an invalid answer. */
export class PrivvalError extends Error {
  override readonly name = 'PrivvalError'
}

export function encodePubKeyRequest(chainId: string): Uint8Array {
  return encode(KINDS.pubKeyRequest, (writer) => writer.string(1, chainId))
}

export function encodePing(): Uint8Array {
  return encode(KINDS.pingRequest, () => undefined)
}

export function encodeSignRequest(chainId: string, request: SigningRequest): Uint8Array {
  if (request.kind === 'vote') {
    const vote = { ...request.vote, signature: EMPTY_BYTES }
    return encode(KINDS.signVoteRequest, (writer) => writer.message(1, VOTE_CODEC.write, vote).string(2, chainId))
  }
  const proposal = { ...request.proposal, signature: EMPTY_BYTES }
  return encode(KINDS.signProposalRequest, (writer) =>
    writer.message(1, PROPOSAL_CODEC.write, proposal).string(2, chainId),
  )
}

/** Encodes the message with its length before it. */
function encode(kind: number, write: (writer: ProtobufWriter) => void): Uint8Array {
  return new ProtobufWriter().message(kind, write, undefined).finishDelimited()
}

/**
 * Decodes an answer in any encoding; of a signed message, only what the signer may change is read.
 * @throws PrivvalError
 */
export function decodeAnswer(bytes: Uint8Array): SignerAnswer {
  try {
    const message = new ProtobufFields(bytes)
    const [kind] = message.numbers()
    switch (kind) {
      case KINDS.pubKeyResponse:
        return message.message(kind, (response) => refusalIn(response) ?? publicKeyIn(response))
      case KINDS.signedVoteResponse:
        return message.message(kind, (response) => refusalIn(response) ?? signatureIn(response, 5, 8))
      case KINDS.signedProposalResponse:
        return message.message(kind, (response) => refusalIn(response) ?? signatureIn(response, 6, 7))
      case KINDS.pingResponse:
        return { kind: 'ping' }
      default:
        throw new PrivvalError(`message ${kind} is not an answer of a signer`)
    }
  } catch (cause) {
    if (!(cause instanceof ProtobufError || cause instanceof ConsensusDecodingError)) throw cause
    throw new PrivvalError(`a malformed answer: ${cause.message}`, { cause })
  }
}

function refusalIn(response: ProtobufFields): SignerAnswer | undefined {
  if (!response.numbers().has(2)) return undefined
  return { kind: 'refusal', reason: response.message(2, (error) => error.string(2)) }
}

function publicKeyIn(response: ProtobufFields): SignerAnswer {
  return { kind: 'publicKey', publicKey: response.message(1, (key) => key.fixedBytes(1, 32)) }
}

function signatureIn(response: ProtobufFields, timeField: number, signatureField: number): SignerAnswer {
  return response.message(1, (signed) => ({
    kind: 'signature',
    timestampMs: signed.message(timeField, readTime),
    signature: signed.fixedBytes(signatureField, 64),
  }))
}

/** CometBFT's maxRemoteSignerMsgSize */
const MAX_LENGTH = 10 * 1024

/** Cuts a stream into messages with their lengths before them. */
export class MessageReader {
  #buffered: Uint8Array = new Uint8Array()

  /** @throws PrivvalError for a message that is too long */
  read(bytes: Uint8Array): readonly Uint8Array[] {
    this.#buffered = Buffer.concat([this.#buffered, bytes])
    const messages: Uint8Array[] = []
    for (;;) {
      const head = this.#head()
      if (head === undefined || this.#buffered.length < head.start + head.length) return messages
      messages.push(this.#buffered.slice(head.start, head.start + head.length))
      this.#buffered = this.#buffered.slice(head.start + head.length)
    }
  }

  #head(): { readonly start: number; readonly length: number } | undefined {
    let length = 0
    for (const [index, byte] of this.#buffered.subarray(0, 3).entries()) {
      length += (byte & 0x7f) * 128 ** index
      if (length > MAX_LENGTH || (index === 2 && byte >= 0x80)) throw new PrivvalError('a message is too long')
      if (byte < 0x80) return { start: index + 1, length }
    }
    return undefined
  }
}
