import { parseBoundedJson } from '../../../primitives/boundedJson.ts'
import { type Json, type JsonContext, JsonFormError } from '../../../primitives/protoScalars.ts'
import { type AnyValue, isJsonObject } from '../../../primitives/protoSchema.ts'
import { type Coin, parseCoins } from '../../coin.ts'
import { OUT_OF_GAS } from '../../precompileFunctions/dispatch.ts'
import { isSdkError, type Outcome, sdkError } from '../../sdkError.ts'

/** Open brackets: no message that can be proposed has as many. */
const MAX_DEPTH = 32
/** Four times the bytes that a proposal's messages may have. */
const MAX_LENGTH = 262_144

const REFUSALS = {
  syntax: 'the proposal is not JSON',
  depth: 'the proposal is nested too deeply',
  length: `the proposal has more than ${MAX_LENGTH} characters`,
  values: 'the proposal has too many values',
} as const

/** The contents of a proposal in JSON. */
interface ProposalJson {
  readonly messages: readonly AnyValue[]
  readonly metadata: string
  readonly title: string
  readonly summary: string
  readonly expedited: boolean
  /** empty when the text names none */
  readonly deposit: readonly Coin[]
}

/** Gas of a JSON value, which is read, encoded, and decoded again where messages are checked; its bytes are paid besides. */
const VALUE_GAS = 400n

/**
 * Reads the proposal form of the SDK (x/gov/client/cli): `{"messages": [{"@type": …, …}], "metadata", "deposit": "10acoin",
 * "title", "summary", "expedited"}`. Members may be left out, and others are ignored, as Go does.
 * @param text UTF-8
 * @param types finds the types that messages, and the Anys inside them, may have
 * @param charge takes gas for the values before they are read
 */
export function readProposalJson(
  text: string,
  types: JsonContext,
  charge: (gas: bigint) => boolean,
): Outcome<ProposalJson> | typeof OUT_OF_GAS {
  const read = parseBoundedJson(text, { length: MAX_LENGTH, depth: MAX_DEPTH })
  if (read.kind === 'refused') return sdkError('invalidRequest', REFUSALS[read.reason])
  if (!charge(BigInt(read.values) * VALUE_GAS)) return OUT_OF_GAS
  const json = read.json as Json
  if (!isJsonObject(json)) return sdkError('invalidRequest', 'the proposal is not a JSON object')
  const depositText = readText(json['deposit'])
  const [metadata, title, summary] = [json['metadata'], json['title'], json['summary']].map(readText)
  const expedited = json['expedited'] ?? false
  const areTexts = metadata !== undefined && title !== undefined && summary !== undefined && depositText !== undefined
  if (!areTexts || typeof expedited !== 'boolean') {
    return sdkError('invalidRequest', 'metadata, title, summary and deposit are texts, expedited is true or false')
  }
  const deposit = parseCoins(depositText)
  if (deposit === undefined) return sdkError('invalidCoins', depositText)
  const messages = readMessages(json['messages'] ?? [], types)
  return isSdkError(messages) ? messages : { messages, metadata, title, summary, expedited, deposit }
}

function readMessages(json: Json, { typeOf }: JsonContext): Outcome<readonly AnyValue[]> {
  if (!Array.isArray(json)) return sdkError('invalidRequest', 'messages: expected an array')
  const messages: AnyValue[] = []
  for (const [index, message] of (json as readonly Json[]).entries()) {
    const path = `messages[${index}]`
    const typeUrl = isJsonObject(message) ? message['@type'] : undefined
    const type = typeof typeUrl === 'string' ? typeOf(typeUrl) : undefined
    if (!isJsonObject(message) || type === undefined) {
      return sdkError('invalidRequest', `${path}: expected an object with the @type of a message`)
    }
    const { '@type': _, ...members } = message
    try {
      messages.push({ typeUrl: type.typeUrl, value: type.encode(type.fromJson(members, { typeOf }, path) as never) })
    } catch (error) {
      if (!(error instanceof JsonFormError)) throw error
      return sdkError('invalidRequest', error.message)
    }
  }
  return messages
}

/** '' for an absent text. */
function readText(json: Json | undefined): string | undefined {
  if (json === undefined || json === null) return ''
  return typeof json === 'string' ? json : undefined
}
