"""CRAB: a benchmark framework for agents that operate several devices at once."""

from crab.action import Action, action
from crab.agent import Agent, Call, Decision, TaskView
from crab.environment import Device, Environment, EnvironmentKind, preparation, probe
from crab.errors import CrabError
from crab.evaluator import Evaluator, Probes, evaluator, submitted
from crab.graph import Checkpoint, CheckpointGraph, chain, checkpoint, parallel
from crab.hosting import HostedEnvironment, SimpleDevice, in_process
from crab.observation import Frame, Observation, Observations
from crab.progress import Progress
from crab.task import NearMiss, Needs, Output, Parameter, SetupCall, Subtask, Task, ValueType, perform, submit

__all__ = [
    "Action",
    "Agent",
    "Call",
    "Checkpoint",
    "CheckpointGraph",
    "CrabError",
    "Decision",
    "Device",
    "Environment",
    "EnvironmentKind",
    "Evaluator",
    "Frame",
    "HostedEnvironment",
    "NearMiss",
    "Needs",
    "Observation",
    "Observations",
    "Output",
    "Parameter",
    "Probes",
    "Progress",
    "SetupCall",
    "SimpleDevice",
    "Subtask",
    "Task",
    "TaskView",
    "ValueType",
    "action",
    "chain",
    "checkpoint",
    "evaluator",
    "in_process",
    "parallel",
    "perform",
    "preparation",
    "probe",
    "submit",
    "submitted",
]
