import { lockStepSuite } from "./lock-step-suite.ts";

lockStepSuite("fifo");
