import type { ParamReader } from '../method.ts'
import { readBlockOverrides } from './blockOverrides.ts'
import { readBool } from './bool.ts'
import { jsonKind, TypeMismatch } from './mismatch.ts'
import { objectReader } from './object.ts'
import { readIndex } from './quantity.ts'
import { readStateOverrides } from './stateOverrides.ts'

const readString: ParamReader<string> = (json) => {
  if (typeof json !== 'string') throw new TypeMismatch(jsonKind(json), 'string')
  return json
}

const readInteger: ParamReader<number> = (json) => {
  if (typeof json !== 'number') throw new TypeMismatch(jsonKind(json), 'int')
  if (!Number.isSafeInteger(json)) throw new TypeMismatch(`number ${json}`, 'int')
  return json
}

const FIELDS = {
  tracer: readString,
  tracerConfig: (json: unknown) => json,
  timeout: readString,
  /** taken and ignored: no state has to be made again */
  reexec: readInteger,
  enableMemory: readBool,
  disableStack: readBool,
  disableStorage: readBool,
  enableReturnData: readBool,
  limit: readInteger,
}

/** How debug methods trace (geth: tracers.TraceConfig). */
export type TraceConfig = ReturnType<typeof readTraceConfig>

export const readTraceConfig = objectReader('TraceConfig', 'tracers.TraceConfig', FIELDS)

/** The same for debug_traceCall (geth: tracers.TraceCallConfig). */
export const readTraceCallConfig = objectReader('TraceCallConfig', 'tracers.TraceCallConfig', {
  ...FIELDS,
  stateOverrides: readStateOverrides,
  blockOverrides: readBlockOverrides,
  txIndex: readIndex,
})
