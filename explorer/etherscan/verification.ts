import { bytesToHex } from '../../src/primitives/bytes.ts'
import { findProxy } from '../verify/proxies.ts'
import { MAX_INPUT_BYTES } from '../verify/standardJson.ts'
import type { Submission } from '../verify/submitSources.ts'
import { findInterface, findSource, type VerifiedSource } from '../verify/verifiedContracts.ts'
import { type Action, actionsOf, failed, ok } from './action.ts'
import { type Parameters, RequestError } from './parameters.ts'

/* The actions of the module `contract` with which tools verify contracts, and read the sources of verified ones. */

const NOT_VERIFIED = 'Contract source code not verified'
const PENDING = 'Pending in queue'
const VERIFIED = 'Pass - Verified'
const ALREADY_VERIFIED = 'Contract source code already verified'
const STANDARD_JSON = 'solidity-standard-json-input'
const SINGLE_FILE = 'solidity-single-file'
/** Libraries of a single file: libraryname1, libraryaddress1, … */
const MAX_LIBRARIES = 10
const MAX_RUNS = 2 ** 32 - 1

/** Tools also send the constructor's arguments. They are not needed: the verifier finds them. */
const verifysourcecode: Action = async (parameters, { node, submitSources }) => {
  const address = parameters.address('contractaddress')
  const [code] = await node.ethereum([{ method: 'eth_getCode', params: [bytesToHex(address), 'latest'] }])
  if (code === '0x') return failed(`Unable to locate ContractCode at ${bytesToHex(address)}`)
  const version = required(parameters, 'compilerversion')
  const taken = await submitSources({ address, version, ...readSources(parameters) })
  if ('id' in taken) return ok(taken.id)
  return failed(taken.code === 'already_verified' ? ALREADY_VERIFIED : taken.message)
}

const checkverifystatus: Action = async (parameters, { verifier }) => {
  const job = await verifier.job(required(parameters, 'guid').toLowerCase())
  if (job === undefined) return failed('Unknown GUID')
  if (job.finishedAtMs === null) return failed(PENDING)
  if (job.error === null) return ok(VERIFIED)
  if (job.error.code === 'already_verified') return failed('Already Verified')
  return failed(`Fail - Unable to verify. ${job.error.message}`)
}

const getabi: Action = async (parameters, context) => {
  const contract = await findInterface(context, parameters.address('address'))
  return contract === undefined ? failed(NOT_VERIFIED) : ok(JSON.stringify(contract.abi))
}

const getsourcecode: Action = async (parameters, context) => {
  const address = parameters.address('address')
  const contract = await findSource(context, address)
  const implementation = await findProxy(context.services, address, contract)
  return ok([
    {
      ...(contract === undefined ? UNKNOWN_SOURCE : viewSource(contract)),
      ...(implementation === undefined ? {} : { Proxy: '1', Implementation: bytesToHex(implementation) }),
    },
  ])
}

/** The module `contract`, except the actions in contracts.ts. */
export const VERIFICATION_ACTIONS = actionsOf({ verifysourcecode, checkverifystatus, getabi, getsourcecode })

function required(parameters: Parameters, name: string): string {
  const text = parameters.text(name)
  if (text === undefined) throw new RequestError(`Error! Missing ${name}`)
  return text
}

function readSources(parameters: Parameters): Pick<Submission, 'input' | 'contract'> {
  const code = required(parameters, 'sourcecode')
  if (Buffer.byteLength(code) > MAX_INPUT_BYTES) {
    throw new RequestError(`Error! sourceCode has more than ${MAX_INPUT_BYTES} bytes`)
  }
  const name = required(parameters, 'contractname')
  const format = parameters.text('codeformat') ?? SINGLE_FILE
  if (format === STANDARD_JSON) {
    try {
      return { input: JSON.parse(code), contract: name }
    } catch (error) {
      throw new RequestError(`Error! sourceCode is not valid JSON (${(error as Error).message})`)
    }
  }
  if (format !== SINGLE_FILE) {
    throw new RequestError(`Error! Invalid codeformat, ${STANDARD_JSON} and ${SINGLE_FILE} are supported`)
  }
  const own = name.slice(name.lastIndexOf(':') + 1)
  const path = `${own}.sol`
  const evmVersion = parameters.text('evmversion')?.toLowerCase() ?? 'default'
  const settings = {
    optimizer: {
      enabled: parameters.text('optimizationused') === '1',
      runs: parameters.number('runs', MAX_RUNS) ?? 200,
    },
    ...(evmVersion === 'default' ? {} : { evmVersion }),
    libraries: Object.fromEntries([[path, readLibraries(parameters)]]),
  }
  const sources = Object.fromEntries([[path, { content: code }]])
  return { input: { language: 'Solidity', sources, settings }, contract: `${path}:${own}` }
}

function readLibraries(parameters: Parameters): Readonly<Record<string, string>> {
  const libraries: [string, string][] = []
  for (let number = 1; number <= MAX_LIBRARIES; number++) {
    const name = parameters.text(`libraryname${number}`)
    if (name !== undefined) libraries.push([name, bytesToHex(parameters.address(`libraryaddress${number}`))])
  }
  return Object.fromEntries(libraries)
}

const UNKNOWN_SOURCE = {
  SourceCode: '',
  ABI: NOT_VERIFIED,
  ContractName: '',
  CompilerVersion: '',
  CompilerType: '',
  OptimizationUsed: '',
  Runs: '',
  ConstructorArguments: '',
  EVMVersion: 'Default',
  Library: '',
  ContractFileName: '',
  LicenseType: 'Unknown',
  Proxy: '0',
  Implementation: '',
  SwarmSource: '',
  SimilarMatch: '',
}

/** Only what solc itself reads of settings. */
interface Settings {
  readonly optimizer?: { readonly enabled?: unknown; readonly runs?: unknown }
  readonly evmVersion?: unknown
}

function viewSource({ content }: VerifiedSource): typeof UNKNOWN_SOURCE {
  const { input, abi, name, path, compilerVersion, creation, runtime } = content
  const { optimizer, evmVersion } = input.settings as Settings
  const values = { ...runtime.match?.transformationValues, ...creation?.match?.transformationValues }
  return {
    ...UNKNOWN_SOURCE,
    // Standard JSON is in a second pair of braces, which is how clients tell it from a single source.
    SourceCode: `{${JSON.stringify(input)}}`,
    ABI: JSON.stringify(abi),
    ContractName: name,
    CompilerVersion: `v${compilerVersion}`,
    CompilerType: 'solc-j',
    OptimizationUsed: optimizer?.enabled === true ? '1' : '0',
    Runs: String(optimizer?.runs ?? 200),
    ConstructorArguments: values.constructorArguments?.slice(2) ?? '',
    EVMVersion: typeof evmVersion === 'string' ? evmVersion : 'Default',
    Library: Object.entries(values.libraries ?? {})
      .map(([library, address]) => `${library}:${address.slice(2)}`)
      .join(';'),
    ContractFileName: path,
  }
}
