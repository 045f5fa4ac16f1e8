import { invalidParams } from './errorResponse.ts'
import { InvalidArgument, type RpcError } from './errors.ts'
import type { RpcMethod } from './method.ts'

/** The list in a request's `params`, which may be absent or null. @throws RpcError for anything but a list */
export function positionalParams(params: unknown): readonly unknown[] {
  if (params === undefined || params === null) return []
  if (!Array.isArray(params)) throw invalidParams('non-array args')
  return params
}

/**
 * Reads a method's arguments (geth: rpc/json.go, parsePositionalArguments).
 * @throws RpcError in geth's words
 */
export function readArguments(
  { params: readers, required }: Pick<RpcMethod, 'params' | 'required'>,
  params: readonly unknown[],
): unknown[] {
  const args: unknown[] = []
  for (const [index, json] of params.entries()) {
    const read = readers[index]
    if (read === undefined) throw invalidParams(`too many arguments, want at most ${readers.length}`)
    if (json !== null && json !== undefined) args.push(readArgument(index, () => read(json)))
    else if (index < required) throw missingArgument(index)
    else args.push(undefined)
  }
  if (args.length < required) throw missingArgument(args.length)
  while (args.length < readers.length) args.push(undefined)
  return args
}

function readArgument(index: number, read: () => unknown): unknown {
  try {
    return read()
  } catch (error) {
    if (error instanceof InvalidArgument) throw invalidParams(`invalid argument ${index}: ${error.message}`)
    throw error
  }
}

function missingArgument(index: number): RpcError {
  return invalidParams(`missing value for required argument ${index}`)
}
