import { type Json, JsonFormError } from '../../primitives/protoScalars.ts'
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
import { defineErrors, isSdkError, type Outcome } from '../sdkError.ts'
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
  /** the name in x/params (`UnbondingTime`, `communitytax`) or the present one (`unbonding_time`) */
  readonly key: string
  /** JSON; durations in nanoseconds, as x/params had them, or like 600s */
  readonly value: string
}

type JsonObject = { readonly [name: string]: Json }
type Native = Pick<NativeStore, 'get'>

/** The present parameters of a subspace, and the message that sets all of them. */
interface Subspace {
  readonly typeUrl: string
  current(native: Native): JsonObject
  /** the message's members besides its authority */
  message(params: JsonObject): JsonObject
}

const NO_ANY = { typeOf: () => undefined }

function subspace<T>(typeUrl: string, store: ParamsStore<T>): Subspace {
  return {
    typeUrl,
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
 * The MsgUpdateParams that make the changes of a v1beta1 ParameterChangeProposal, one for each module. It sets the module's
 * other parameters to their values at the time of this call.
 */
export function messagesOfChanges(
  native: Native,
  messages: MessageTable,
  changes: readonly ParameterChange[],
): Outcome<readonly AnyValue[]> {
  const changed = new Map<Subspace, JsonObject>()
  for (const change of changes) {
    const found = SUBSPACES.get(change.subspace)
    if (found === undefined) return paramsError('unknownSubspace', change.subspace)
    const params = withChange(changed.get(found) ?? found.current(native), change)
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

/** Names of a subspace's parameters; undefined when there is no such subspace. */
export function parameterNames(native: Native, subspaceName: string): readonly string[] | undefined {
  const found = SUBSPACES.get(subspaceName)
  return found && Object.keys(found.current(native))
}

/** The JSON of a parameter under one of its names; undefined when there is none. */
export function parameterValue(native: Native, subspaceName: string, key: string): Json | undefined {
  const params = SUBSPACES.get(subspaceName)?.current(native)
  const name = params && nameIn(params, plain(key))
  return name === undefined ? undefined : params?.[name]
}

function withChange(params: JsonObject, { subspace: name, key, value }: ParameterChange): Outcome<JsonObject> {
  let json: Json
  try {
    json = JSON.parse(value) as Json
  } catch (error) {
    if (!(error instanceof SyntaxError)) throw error
    return paramsError('settingParameter', `${name}/${key}: the value is not JSON`)
  }
  return withValue(params, key, json) ?? paramsError('settingParameter', `${name} has no parameter ${key}`)
}

/** `params` with one changed; undefined when there is none with this name. */
function withValue(params: JsonObject, key: string, value: Json, isMember = false): JsonObject | undefined {
  const name = nameIn(params, plain(key)) ?? nameIn(params, plain(key).replace(/params$/, ''))
  if (name !== undefined) return { ...params, [name]: merged(params[name]!, value) }
  // The subspace gov had three parameters that were objects; their members are parameters of their own now.
  if (isMember || !isJsonObject(value)) return undefined
  let changed: JsonObject | undefined = params
  for (const [member, of] of Object.entries(value)) changed = changed && withValue(changed, member, of, true)
  return changed
}

function merged(current: Json, value: Json): Json {
  if (isJsonObject(current) && isJsonObject(value)) {
    // A map: the value may have thousands of members, and any names.
    const changed = new Map(Object.entries(current))
    for (const [member, of] of Object.entries(value)) {
      const name = nameIn(current, plain(member)) ?? member
      changed.set(name, merged(Object.hasOwn(current, name) ? current[name]! : null, of))
    }
    return Object.fromEntries(changed)
  }
  const isDuration = typeof current === 'string' && /^\d+(\.\d+)?s$/.test(current)
  return isDuration && (typeof value === 'string' || typeof value === 'number') ? durationText(value) : value
}

/** A duration in seconds. Digits alone are nanoseconds, as amino JSON had durations; other texts stay as they are. */
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

function nameIn(params: JsonObject, plainName: string): string | undefined {
  return Object.keys(params).find((name) => plain(name) === plainName)
}
