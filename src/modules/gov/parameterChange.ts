import { parseBoundedJson } from '../../primitives/boundedJson.ts'
import { type AnyMessageType, durationCodec, type Json, JsonFormError } from '../../primitives/protoScalars.ts'
import { type AnyValue, isJsonObject } from '../../primitives/protoSchema.ts'
import type { NativeStore } from '../../state/world.ts'
import { AUTH_PARAMS } from '../auth/params.ts'
import { BANK_PARAMS } from '../bank/params.ts'
import { CONSENSUS_PARAMS } from '../consensus/params.ts'
import { DISTRIBUTION_PARAMS } from '../distribution/params.ts'
import { FEEMARKET_PARAMS } from '../feemarket/params.ts'
import type { MessageTable } from '../message.ts'
import { MINT_PARAMS } from '../mint/params.ts'
import type { ParamsStore } from '../params.ts'
import { defineErrors, isSdkError, type Outcome, type SdkError } from '../sdkError.ts'
import { SLASHING_PARAMS } from '../slashing/params.ts'
import { STAKING_PARAMS } from '../staking/params.ts'
import { GOV_AUTHORITY } from './authority.ts'
import { govError } from './errors.ts'
import { GOV_PARAMS } from './params.ts'

/** Makes an error of the codespace `params` (x/params/types/proposal/errors.go). */
export const paramsError = defineErrors('params', {
  unknownSubspace: [2, 'unknown subspace'],
  settingParameter: [3, 'failed to set parameter'],
  emptyChanges: [4, 'submitted parameter changes are empty'],
  emptySubspace: [5, 'parameter subspace is empty'],
  emptyKey: [6, 'parameter key is empty'],
  emptyValue: [7, 'parameter value is empty'],
})

/** cosmos.params.v1beta1.ParamChange */
interface ParameterChange {
  /** a module's name, or `baseapp` for consensus parameters */
  readonly subspace: string
  /**
   * the name in x/params (`UnbondingTime`, `communitytax`) or the current one (`unbonding_time`)
   */
  readonly key: string
  /** JSON; durations in nanoseconds, as x/params had them, or like 600s */
  readonly value: string
}

type JsonObject = { readonly [name: string]: Json }
type Native = Pick<NativeStore, 'get' | 'work'>

/** Most changes of a proposal: there are fewer parameters. */
export const MAX_CHANGES = 64
/** Most characters of names in a change. */
const MAX_NAME = 64
/** Bounds of a value: no parameter of today comes near them. */
const VALUE_BOUNDS = { length: 4_096, depth: 8, values: 256 } as const

/** Gas of work outside the native store: a change, and its parameters once to JSON and back. */
const CHANGE_GAS = 1_000
const SUBSPACE_GAS = 5_000
/** A character of a change, which is parsed and converted. */
const CHARACTER_GAS = 10

/** The current parameters of a subspace, and the message that sets all of them. */
interface Subspace {
  readonly typeUrl: string
  /** of its parameters: only their names may be changed */
  readonly type: AnyMessageType
  current(native: Native): JsonObject
  /** the message's members besides its authority */
  message(params: JsonObject): JsonObject
}

const NO_ANY = { typeOf: () => undefined }

function subspace<T>(typeUrl: string, store: ParamsStore<T>): Subspace {
  return {
    typeUrl,
    type: store.type as AnyMessageType,
    current: (native) => store.type.toJson(store.get(native) as never, NO_ANY) as JsonObject,
    message: (params) => ({ params }),
  }
}

const SUBSPACES: ReadonlyMap<string, Subspace> = new Map([
  ['auth', subspace('/cosmos.auth.v1beta1.MsgUpdateParams', AUTH_PARAMS)],
  ['bank', subspace('/cosmos.bank.v1beta1.MsgUpdateParams', BANK_PARAMS)],
  ['staking', subspace('/cosmos.staking.v1beta1.MsgUpdateParams', STAKING_PARAMS)],
  ['distribution', subspace('/cosmos.distribution.v1beta1.MsgUpdateParams', DISTRIBUTION_PARAMS)],
  ['slashing', subspace('/cosmos.slashing.v1beta1.MsgUpdateParams', SLASHING_PARAMS)],
  ['gov', subspace('/cosmos.gov.v1.MsgUpdateParams', GOV_PARAMS)],
  ['mint', subspace('/cosmos.mint.v1beta1.MsgUpdateParams', MINT_PARAMS)],
  ['feemarket', subspace('/cosmos.evm.feemarket.v1.MsgUpdateParams', FEEMARKET_PARAMS)],
  [
    'baseapp',
    {
      ...subspace('/cosmos.consensus.v1.MsgUpdateParams', CONSENSUS_PARAMS),
      message: ({ version: _, ...params }) => params,
    },
  ],
])

/**
 * Returns the MsgUpdateParams that make the changes of a v1beta1 ParameterChangeProposal, one for
 * each module. It sets the module's other parameters to their values at the time of this call.
 */
export function messagesOfChanges(
  native: Native,
  messages: MessageTable,
  changes: readonly ParameterChange[],
): Outcome<readonly AnyValue[]> {
  const changed = new Map<Subspace, JsonObject>()
  for (const change of changes) {
    const refused = checkChange(change)
    if (refused !== undefined) return refused
    const { subspace: name, key, value } = change
    native.work.add(CHANGE_GAS + (name.length + key.length + value.length) * CHARACTER_GAS)
    const found = SUBSPACES.get(name)
    if (found === undefined) return paramsError('unknownSubspace', name)
    if (!changed.has(found)) native.work.add(SUBSPACE_GAS)
    const params = withChange(found.type, changed.get(found) ?? found.current(native), change)
    if (isSdkError(params)) return params
    changed.set(found, params)
  }
  const updates: AnyValue[] = []
  for (const [{ typeUrl, message }, params] of changed) {
    const type = messages.get(typeUrl)?.type
    if (type === undefined) return govError('noHandler', typeUrl)
    try {
      const value = type.fromJson({ authority: GOV_AUTHORITY, ...message(params) }, NO_ANY)
      updates.push({ typeUrl, value: type.encode(value) })
    } catch (error) {
      if (!(error instanceof JsonFormError)) throw error
      return paramsError('settingParameter', error.message)
    }
  }
  return updates
}

/** Names of the subspaces. */
export const SUBSPACE_NAMES: readonly string[] = [...SUBSPACES.keys()]

/**
 * Returns the error of a change that is too large or lacks a part (ValidateChanges of
 * x/params/types/proposal/proposal.go).
 */
export function checkChange({ subspace, key, value }: ParameterChange): SdkError | undefined {
  if (subspace === '') return paramsError('emptySubspace')
  if (key === '') return paramsError('emptyKey')
  if (value === '') return paramsError('emptyValue')
  if (subspace.length > MAX_NAME) return paramsError('unknownSubspace', `more than ${MAX_NAME} characters`)
  if (key.length > MAX_NAME) return paramsError('settingParameter', `a key of more than ${MAX_NAME} characters`)
  if (value.length <= VALUE_BOUNDS.length) return undefined
  return paramsError(
    'settingParameter',
    `${subspace}/${key}: the value has more than ${VALUE_BOUNDS.length} characters`,
  )
}

/** Names of a subspace's parameters; undefined when there is no such subspace. */
export function parameterNames(subspaceName: string): readonly string[] | undefined {
  return SUBSPACES.get(subspaceName)?.type.fields.map(({ jsonName }) => jsonName)
}

/** Returns the JSON of a parameter under one of its names; undefined without such a parameter. */
export function parameterValue(native: Native, subspaceName: string, key: string): Json | undefined {
  const found = SUBSPACES.get(subspaceName)
  const field = found && fieldIn(found.type, plain(key))
  return field && found.current(native)[field.jsonName]
}

const REFUSALS = {
  syntax: 'the value is not JSON',
  length: 'the value is too long',
  depth: 'the value is nested too deeply',
  values: `the value has more than ${VALUE_BOUNDS.values} values`,
} as const

function withChange(
  type: AnyMessageType,
  params: JsonObject,
  { subspace: name, key, value }: ParameterChange,
): Outcome<JsonObject> {
  const read = parseBoundedJson(value, VALUE_BOUNDS)
  if (read.kind === 'refused') return paramsError('settingParameter', `${name}/${key}: ${REFUSALS[read.reason]}`)
  const changed = withValue(type, params, key, read.json as Json)
  return changed ?? paramsError('settingParameter', `${name} has no parameter ${key}, or it has no such members`)
}

/**
 * Returns `params` with one changed; undefined if there is no such name, or the value has unknown
 * members.
 */
function withValue(type: AnyMessageType, params: JsonObject, key: string, value: Json): JsonObject | undefined {
  const field = fieldIn(type, plain(key)) ?? fieldIn(type, plain(key).replace(/params$/, ''))
  if (field !== undefined) return withField(params, field, value)
  // The subspace gov had three parameters that were objects; their members are parameters of their own now.
  return isJsonObject(value) ? withMembers(type, params, value) : undefined
}

/**
 * Returns `params` with the members of an object; undefined when the type has no field with one of
 * the names.
 */
function withMembers(type: AnyMessageType, params: JsonObject, members: JsonObject): JsonObject | undefined {
  let changed: JsonObject | undefined = params
  for (const [name, value] of Object.entries(members)) {
    const field = fieldIn(type, plain(name))
    changed = field && withField(changed, field, value)
    if (changed === undefined) return undefined
  }
  return changed
}

type Field = AnyMessageType['fields'][number]

function withField(params: JsonObject, { jsonName, codec, presence }: Field, value: Json): JsonObject | undefined {
  const changed = (json: Json): JsonObject => ({ ...params, [jsonName]: json })
  if (presence === 'repeated') return changed(value)
  const type = codec.messageType?.()
  if (type !== undefined && isJsonObject(value)) {
    const current = params[jsonName]
    const merged = withMembers(type, isJsonObject(current) ? current : {}, value)
    return merged && changed(merged)
  }
  const isDuration = codec === durationCodec && (typeof value === 'string' || typeof value === 'number')
  return changed(isDuration ? durationText(value) : value)
}

/**
 * Returns a duration in seconds. Digits alone are nanoseconds, as amino JSON had durations; other
 * texts stay as they are.
 */
function durationText(value: string | number): string {
  const text = value.toString()
  if (!/^\d{1,21}$/.test(text)) return text
  const digits = text.padStart(10, '0')
  return `${BigInt(digits.slice(0, -9))}.${digits.slice(-9)}s`
}

/** `UnbondingTime`, `unbonding_time` and `unbondingtime` are one name. */
function plain(name: string): string {
  return name.replaceAll('_', '').toLowerCase()
}

const FIELDS = new Map<AnyMessageType, ReadonlyMap<string, Field>>()

/** Returns the field of a type with this plain name, by one look-up: a value may name thousands. */
function fieldIn(type: AnyMessageType, plainName: string): Field | undefined {
  let fields = FIELDS.get(type)
  if (fields === undefined) {
    fields = new Map(type.fields.map((field) => [plain(field.jsonName), field]))
    FIELDS.set(type, fields)
  }
  return fields.get(plainName)
}
