import { type ParseArgsConfig, parseArgs } from 'node:util'

type Options = NonNullable<ParseArgsConfig['options']>

/** A flag with a number, read as text. */
export const numberFlag = (value: string) => ({ type: 'string', default: value }) as const

/** Reads the flags of a bench. `--help` prints `help`, and a wrong flag one line; both end the process. */
export function readFlags<const T extends Options>(help: string, options: T) {
  if (process.argv.slice(2).includes('--help')) {
    console.log(help)
    process.exit()
  }
  try {
    return parseArgs<{ readonly options: T }>({ options }).values
  } catch (error) {
    if (!(error instanceof TypeError)) throw error
    console.error(`${error.message}\n--help lists the flags`)
    process.exit(64)
  }
}
