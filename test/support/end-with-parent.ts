import { exitWhenParentGone } from '../../embedded/children/parent-watch.ts'

/** Loaded into a process by `--import`: it does not outlive the test that started it, however that ended. */
exitWhenParentGone(() => process.exit(1))
