import { connect, type Socket } from 'node:net'
import { Timestamp } from 'cosmjs-types/google/protobuf/timestamp'
import { BlockID, Proposal, Vote } from 'cosmjs-types/tendermint/types/types'
import { MessageReader } from '../../../../src/p2p/privval/messages.ts'
import { SecretChannel } from '../../../../src/p2p/privval/secretChannel.ts'
import { equalBytes } from '../../../../src/primitives/bytes.ts'
import { type Ed25519Key, signEd25519 } from '../../../../src/primitives/ed25519.ts'
import { ProtobufFields, ProtobufWriter } from '../../../../src/primitives/protobuf.ts'

/** What a signer does with a question about a vote or proposal. */
export type Conduct = 'sign' | 'silent' | 'refuse' | 'wrong signature'

interface Signed {
  readonly height: bigint
  readonly round: number
  readonly step: number
  readonly message: Vote | Proposal
  readonly signBytes: Uint8Array
  readonly signature: Uint8Array
}

/**
 * A signer of the privval protocol, by CometBFT's specification and with its messages from cosmjs-types: it signs each step once, and
 * gives the old signature with the old time when it is asked for the same again. Its memory outlives its connections.
 */
export class TestSigner {
  readonly key: Ed25519Key
  readonly chainId: string
  conduct: Conduct = 'sign'
  /** questions about votes and proposals, as `height/round/step` */
  readonly asked: string[] = []
  #last: Signed | undefined

  constructor(key: Ed25519Key, chainId: string) {
    this.key = key
    this.chainId = chainId
  }

  /** @param question without its length. @returns the answer with its length before it; undefined: it is silent */
  answer(question: Uint8Array): Uint8Array | undefined {
    const message = new ProtobufFields(question)
    const [kind] = message.numbers()
    const body = message.message(kind!, (fields) => fields)
    if (kind === 7) return write(8, () => undefined)
    if (kind === 1) {
      if (body.string(1) !== this.chainId) return write(2, refusal('unable to provide pubkey'))
      return write(2, (writer) => writer.message(1, (inner, key) => inner.bytes(1, key), this.key.publicKey))
    }
    const isVote = kind === 3
    const asked = isVote ? Vote.decode(body.bytes(1)) : Proposal.decode(body.bytes(1))
    const step = 'validatorIndex' in asked ? asked.type + 1 : 1
    this.asked.push(`${asked.height}/${asked.round}/${step}`)
    if (this.conduct === 'silent') return undefined
    const signed = this.conduct === 'refuse' ? undefined : this.#sign(asked, step)
    if (signed === undefined) return write(isVote ? 4 : 6, refusal('it may not be signed'))
    if (this.conduct === 'wrong signature') signed.signature[0]! ^= 1
    const bytes = isVote ? Vote.encode(signed as Vote).finish() : Proposal.encode(signed as Proposal).finish()
    return write(isVote ? 4 : 6, (writer) => writer.bytes(1, bytes))
  }

  #sign(message: Vote | Proposal, step: number): Vote | Proposal | undefined {
    const { height, round } = message
    const last = this.#last
    const order = last === undefined ? 1 : Number(height - last.height) || round - last.round || step - last.step
    if (order < 0) return undefined
    if (order === 0) {
      const again = { ...message, timestamp: last!.message.timestamp }
      return equalBytes(this.#signBytes(again), last!.signBytes)
        ? { ...again, signature: last!.signature.slice() }
        : undefined
    }
    const signBytes = this.#signBytes(message)
    const signature = signEd25519(this.key, signBytes)
    this.#last = { height, round, step, message, signBytes, signature }
    return { ...message, signature: signature.slice() }
  }

  /** tendermint.types.CanonicalVote or CanonicalProposal with its length before it */
  #signBytes(message: Vote | Proposal): Uint8Array {
    const { type, height, round, timestamp, blockId } = message
    const time = Timestamp.encode(timestamp!).finish()
    const writer = new ProtobufWriter().varint(1, type).sfixed64(2, Number(height)).sfixed64(3, round)
    if (!('validatorIndex' in message)) writer.varint(4, message.polRound)
    const next = 'validatorIndex' in message ? 4 : 5
    if (blockId !== undefined && blockId.hash.length > 0) writer.bytes(next, BlockID.encode(blockId).finish())
    return writer
      .bytes(next + 1, time)
      .string(next + 2, this.chainId)
      .finishDelimited()
  }
}

function refusal(description: string): (writer: ProtobufWriter) => void {
  return (writer) => {
    writer
      .message(1, () => undefined, undefined)
      .message(2, (error, text) => error.varint(1, 1).string(2, text), description)
  }
}

function write(kind: number, body: (writer: ProtobufWriter) => void): Uint8Array {
  return new ProtobufWriter().message(kind, (writer) => body(writer), undefined).finishDelimited()
}

/** Dials a node and answers its questions, until the connection ends. */
export function dialNode(
  signer: TestSigner,
  address: { readonly port: number } | { readonly path: string },
  connectionKey: Ed25519Key,
): Socket {
  const socket = 'path' in address ? connect(address.path) : connect(address.port, '127.0.0.1')
  const reader = new MessageReader()
  const channel = 'path' in address ? undefined : new SecretChannel(connectionKey, (bytes) => socket.write(bytes))
  socket.on('error', () => undefined)
  socket.on('data', (bytes: Uint8Array) => {
    for (const question of reader.read(channel === undefined ? bytes : channel.receive(bytes))) {
      const answer = signer.answer(question)
      if (answer === undefined) continue
      if (channel === undefined) socket.write(answer)
      else channel.send(answer)
    }
  })
  return socket
}
