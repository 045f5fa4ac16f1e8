import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { Ajv, type ValidateFunction } from 'ajv'
import { parse } from 'yaml'

/** Says what is wrong with the result of a method by the suite's OpenRPC document; undefined where nothing is. */
export type ResultValidator = (method: string, result: unknown) => string | undefined

interface Method {
  readonly name: string
  readonly result: { readonly schema: unknown }
}

const DOCUMENT = 'openrpc.json'
const SCHEMA_FOLDERS = ['schemas', 'engine/openrpc/schemas']
/** Folders of methods beside `schemas`; that of the Engine API has other files. */
const METHOD_FOLDERS = ['debug', 'eth', 'testing', 'txpool']

/** Reads the document's sources (YAML) below `directory`; where there are none, every result is fine. */
export function openrpcValidator(directory: string): ResultValidator {
  if (!existsSync(directory)) return () => undefined
  const schemas = Object.assign({}, ...SCHEMA_FOLDERS.flatMap((folder) => readAll<object>(join(directory, folder))))
  const ajv = new Ajv({ strict: false })
  ajv.addSchema({ $id: DOCUMENT, components: { schemas } })
  const validators = new Map<string, ValidateFunction>()
  for (const { name, result } of METHOD_FOLDERS.flatMap((folder) =>
    readAll<Method[]>(join(directory, folder)),
  ).flat()) {
    validators.set(name, ajv.compile(withDocument(result.schema)))
  }
  return (method, result) => {
    const validate = validators.get(method)
    if (validate === undefined || validate(result)) return undefined
    return `not as the document says: ${ajv.errorsText(validate.errors, { dataVar: 'result' })}`
  }
}

function readAll<T>(directory: string): T[] {
  return readdirSync(directory)
    .filter((name) => name.endsWith('.yaml'))
    .sort()
    .map((name) => parse(readFileSync(join(directory, name), 'utf8')) as T)
}

/** References of a method's own schema are meant within the document. */
function withDocument(schema: unknown): object {
  return JSON.parse(JSON.stringify(schema).replaceAll('"#/components', `"${DOCUMENT}#/components`)) as object
}
